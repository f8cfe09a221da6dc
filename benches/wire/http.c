#define _GNU_SOURCE
#include "http.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Tokens that the chat template adds. */
#define TEMPLATE_TOKENS 8

void put(struct buffer *out, const char *bytes, size_t length) {
  if (out->length + length > out->room) {
    out->room = 2 * (out->length + length) + 2048;
    out->bytes = realloc(out->bytes, out->room);
    if (!out->bytes) {
      perror("memory");
      exit(1);
    }
  }
  memcpy(out->bytes + out->length, bytes, length);
  out->length += length;
}

void put_chunk(struct buffer *out, const char *bytes, size_t length) {
  char size[24];
  put(out, size, (size_t)snprintf(size, sizeof size, "%zx\r\n", length));
  put(out, bytes, length);
  put(out, "\r\n", 2);
}

void put_answer(struct buffer *out, const char *status, const char *type, const char *body) {
  char head[256];
  size_t length = strlen(body);
  put(out, head, (size_t)snprintf(head, sizeof head, "HTTP/1.1 %s\r\ncontent-type: %s\r\ncontent-length: %zu\r\n\r\n",
                                  status, type, length));
  put(out, body, length);
}

/* The value that stands behind a key, or null. Nesting is not looked at: no client nests a field that we read. */
static const char *value_of(const char *body, const char *key) {
  const char *at = strstr(body, key);
  if (!at) return NULL;
  at += strlen(key);
  while (*at == ' ' || *at == ':' || *at == '\n') at++;
  return at;
}

static int is_true(const char *body, const char *key) {
  const char *value = value_of(body, key);
  return value && !strncmp(value, "true", 4);
}

static uint32_t number_of(const char *body, const char *key) {
  const char *value = value_of(body, key);
  return value ? (uint32_t)strtoul(value, NULL, 10) : 0;
}

/* Words of a JSON string that starts at `at`, or entries of a list of token ids. */
static uint32_t count_words(const char *at) {
  uint32_t words = 0;
  if (*at == '[') {
    while (*at == '[' || *at == ' ') at++;
    if (*at < '0' || *at > '9') return 0;
    for (words = 1; *at && *at != ']'; at++) words += *at == ',';
    return words;
  }
  if (*at != '"') return 0;
  int inside = 0;
  for (at++; *at && *at != '"'; at++) {
    int space = *at == ' ';
    if (*at == '\\') {
      at++;
      space = *at == 'n' || *at == 't' || *at == 'r';
    }
    if (!space && !inside) words++;
    inside = !space;
  }
  return words;
}

static uint32_t count_prompt(const char *body) {
  static const char *const keys[] = {"\"content\"", "\"prompt\"", "\"text\""};
  uint32_t words = 0;
  for (size_t key = 0; key < 3; key++)
    for (const char *at = body; (at = strstr(at, keys[key]));) {
      at += strlen(keys[key]);
      const char *value = at;
      while (*value == ' ') value++;
      if (*value != ':') continue;
      for (value++; *value == ' ';) value++;
      words += count_words(value);
    }
  return words + TEMPLATE_TOKENS;
}

static int route_of(const char *line) {
  static const struct {
    const char *start;
    int route;
  } routes[] = {
      {"GET /v1/models", MODELS},   {"GET /version", VERSION},         {"GET /health", HEALTH},
      {"GET /metrics", METRICS},    {"POST /tokenize", TOKENIZE},      {"POST /v1/chat/completions", GENERATE},
      {"POST /v1/completions", GENERATE},
  };
  for (size_t at = 0; at < sizeof routes / sizeof *routes; at++)
    if (!strncmp(line, routes[at].start, strlen(routes[at].start))) return routes[at].route;
  return UNKNOWN;
}

size_t read_request(char *bytes, size_t length, struct ask *ask) {
  char *end = strstr(bytes, "\r\n\r\n");
  if (!end) return 0;
  size_t head = (size_t)(end + 4 - bytes), body_length = 0;
  char *stated = strcasestr(bytes, "\r\ncontent-length:");
  if (stated && stated < end) body_length = strtoul(stated + 17, NULL, 10);
  if (length < head + body_length) return 0;
  char *body = bytes + head, kept = body[body_length];
  body[body_length] = 0;
  *ask = (struct ask){.route = route_of(bytes)};
  if (ask->route == GENERATE || ask->route == TOKENIZE) {
    ask->chat = !strncmp(bytes, "POST /v1/chat", 13);
    ask->stream = is_true(body, "\"stream\"");
    ask->usage_last = is_true(body, "\"include_usage\"");
    ask->usage_each = is_true(body, "\"continuous_usage_stats\"");
    ask->tokens = number_of(body, "\"max_completion_tokens\"");
    if (!ask->tokens) ask->tokens = number_of(body, "\"max_tokens\"");
    ask->prompt_tokens = count_prompt(body);
  }
  body[body_length] = kept;
  return head + body_length;
}
