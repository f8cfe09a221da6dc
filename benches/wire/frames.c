#include "frames.h"

#include <stdio.h>
#include <string.h>

#define MODEL "bench"

static const char *const words_of_text[] = {
    " harbour", " slow", " lantern", " the", " copper", " of", " seldom", " and", " winter", " a", " ladder", " counts",
    " in", " paper", " eight", " to", " quiet", " engine", " before", " glass", " is", " orchard", " by", " moss",
    " their", " signal", " under", " it", " bright", " cellar", " with", " was",
};

/* Which word comes at a place of an answer: as good as random, so that no text repeats itself. */
static uint32_t word_at(uint64_t id, uint32_t place) {
  uint64_t mixed = (id ^ place) * 0xff51afd7ed558ccdu;
  mixed = (mixed ^ (mixed >> 29)) * 0xc4ceb9fe1a85ec53u;
  return (uint32_t)(mixed >> 59);
}

void put_head(struct buffer *out) {
  static const char head[] =
      "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream; charset=utf-8\r\ntransfer-encoding: chunked\r\n\r\n";
  put(out, head, sizeof head - 1);
}

static int usage(char *at, size_t room, const struct answer *answer) {
  return snprintf(at, room, "{\"prompt_tokens\":%u,\"total_tokens\":%u,\"completion_tokens\":%u}",
                  answer->prompt_tokens, answer->prompt_tokens + answer->tokens, answer->tokens);
}

static int start(char *at, size_t room, const struct answer *answer) {
  return snprintf(at, room, "data: {\"id\":\"%s-%016lx\",\"object\":\"%s\",\"created\":1790000000,\"model\":\"" MODEL "\",",
                  answer->chat ? "chatcmpl" : "cmpl", answer->id, answer->chat ? "chat.completion.chunk" : "text_completion");
}

void put_role(struct buffer *out, const struct answer *answer) {
  char event[512];
  int length = start(event, sizeof event, answer);
  length += snprintf(event + length, sizeof event - (size_t)length,
                     "\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":\"\"},\"logprobs\":null,"
                     "\"finish_reason\":null}]}\n\n");
  put_chunk(out, event, (size_t)length);
}

void put_words(struct buffer *out, const struct answer *answer, uint32_t words, int last) {
  char event[2048], text[1024];
  size_t long_ = 0;
  for (uint32_t word = 0; word < words && long_ + 16 < sizeof text; word++) {
    const char *next = words_of_text[word_at(answer->id, answer->tokens + word)];
    size_t length = strlen(next);
    memcpy(text + long_, next, length);
    long_ += length;
  }
  text[long_] = 0;
  const char *reason = last ? "\"length\"" : "null";
  int length = start(event, sizeof event, answer);
  length += snprintf(event + length, sizeof event - (size_t)length,
                     answer->chat ? "\"choices\":[{\"index\":0,\"delta\":{\"content\":\"%s\"},\"logprobs\":null,\"finish_reason\":%s}]"
                                  : "\"choices\":[{\"index\":0,\"text\":\"%s\",\"logprobs\":null,\"finish_reason\":%s}]",
                     text, reason);
  if (answer->usage_each) {
    length += snprintf(event + length, sizeof event - (size_t)length, ",\"usage\":");
    length += usage(event + length, sizeof event - (size_t)length, answer);
  }
  memcpy(event + length, "}\n\n", 3);
  put_chunk(out, event, (size_t)length + 3);
}

void put_end(struct buffer *out, const struct answer *answer) {
  if (answer->usage_last) {
    char event[512];
    int length = start(event, sizeof event, answer);
    length += snprintf(event + length, sizeof event - (size_t)length, "\"choices\":[],\"usage\":");
    length += usage(event + length, sizeof event - (size_t)length, answer);
    memcpy(event + length, "}\n\n", 3);
    put_chunk(out, event, (size_t)length + 3);
  }
  put_chunk(out, "data: [DONE]\n\n", 14);
  put_last_chunk(out);
}

void put_error(struct buffer *out) {
  static const char event[] =
      "data: {\"error\":{\"message\":\"the engine died (benches/wire, on purpose)\",\"type\":\"InternalServerError\","
      "\"param\":null,\"code\":500}}\n\ndata: [DONE]\n\n";
  put_chunk(out, event, sizeof event - 1);
  put_last_chunk(out);
}

void put_last_chunk(struct buffer *out) { put(out, "0\r\n\r\n", 5); }

void put_whole(struct buffer *out, const struct answer *answer) {
  char body[1024], counts[128];
  usage(counts, sizeof counts, answer);
  snprintf(body, sizeof body,
           "{\"id\":\"whole-%016lx\",\"object\":\"%s\",\"created\":1790000000,\"model\":\"" MODEL "\",\"choices\":[{\"index\":0,%s,"
           "\"finish_reason\":\"length\"}],\"usage\":%s}",
           answer->id, answer->chat ? "chat.completion" : "text_completion",
           answer->chat ? "\"message\":{\"role\":\"assistant\",\"content\":\" lantern\"}" : "\"text\":\" lantern\"", counts);
  put_answer(out, "200 OK", "application/json", body);
}
