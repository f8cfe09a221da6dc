/* Just enough of HTTP/1.1 and of the OpenAI routes to be measured by any client. */
#ifndef HTTP_H
#define HTTP_H

#include <stddef.h>
#include <stdint.h>

/* Bytes on their way out. */
struct buffer {
  char *bytes;
  size_t length, room;
};

/* What a request asks for. */
struct ask {
  enum { MODELS, VERSION, HEALTH, METRICS, TOKENIZE, GENERATE, UNKNOWN } route;
  int chat;       /* /v1/chat/completions, else /v1/completions */
  int stream;     /* events, else one JSON document */
  int usage_last; /* include_usage */
  int usage_each; /* continuous_usage_stats */
  uint32_t tokens;        /* max_tokens, or 0 */
  uint32_t prompt_tokens; /* words of the prompt, and the template's */
};

void put(struct buffer *out, const char *bytes, size_t length);
/* One HTTP chunk. */
void put_chunk(struct buffer *out, const char *bytes, size_t length);
/* A whole answer. */
void put_answer(struct buffer *out, const char *status, const char *type, const char *body);

/* Reads the first request of `bytes`, which end with a 0. Gives its length, or 0 if it is not whole yet. */
size_t read_request(char *bytes, size_t length, struct ask *ask);

#endif
