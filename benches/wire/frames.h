/* The events of an answer, as vLLM writes them. */
#ifndef FRAMES_H
#define FRAMES_H

#include "http.h"

/* What an event needs to know of its request. */
struct answer {
  uint64_t id;
  int chat, usage_last, usage_each;
  uint32_t prompt_tokens, tokens; /* tokens: with this event */
};

void put_head(struct buffer *out);
/* The event that only names the role; chat only. */
void put_role(struct buffer *out, const struct answer *answer);
/* One payload event of `words` words; the last one says why it ended. */
void put_words(struct buffer *out, const struct answer *answer, uint32_t words, int last);
/* Usage if it was asked for, the end mark, the end of the body. */
void put_end(struct buffer *out, const struct answer *answer);
/* An error inside a 200. */
void put_error(struct buffer *out);
/* The end of the body alone. */
void put_last_chunk(struct buffer *out);
/* A whole answer without a stream. */
void put_whole(struct buffer *out, const struct answer *answer);

#endif
