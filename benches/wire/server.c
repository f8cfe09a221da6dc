/* server: a paced event source with a known truth.
 *
 * One thread. In every step it writes to all streams that have something to say, as a batching engine does. It knows
 * when a request arrived (the kernel's stamp) and when each event was sent (the clock before and after the call), and
 * says so as one JSON line when it is told to end (SIGTERM, SIGINT).
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <getopt.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "frames.h"
#include "http.h"
#include "truth.h"

#define MOST_IN (8u << 20) /* longest request */

static const char usage_text[] =
    "server: a paced event source with a known truth\n"
    "  --port N             0 takes a free one; printed as the first line\n"
    "  --rate R             events per second of each stream; 0: as fast as the sockets take them (default 50)\n"
    "  --events-per-write K events of a stream in one write (default 1)\n"
    "  --tokens-per-event M words in an event (default 1)\n"
    "  --ttft MS            least time from a request to its first event (default 0)\n"
    "  --tokens N           output of requests that do not say how much (default 256)\n"
    "  --max-length N       longest prompt and output that it claims to take (default 32768)\n"
    "  --no-tokenize        has no /tokenize: a client that compares it with a tokenizer of its own would find ours odd\n"
    "  --early-role         the role event goes out when the request comes, not with the first word\n"
    "  --fault KIND@N       the Nth stream fails half-way: error (an event inside a 200), cut (the connection closes),\n"
    "                       stop (the body ends without a finish reason), empty (it ends without a word)\n"
    "  --counters FILE      counters for others to map\n"
    "  --log FILE           a row per request, at the end\n"
    "  --gaps FILE          every gap, at the end\n";

enum fault { NONE, ERROR, CUT, STOP, EMPTY };

struct stream {
  int fd, active, dead;
  struct buffer in, out; /* out: what the socket did not take */
  size_t written;        /* of out */
  struct answer answer;
  uint32_t wanted, truth;
  uint64_t received, due;
  enum fault fault;
  uint32_t place; /* in `open` */
};

static struct {
  double rate;
  uint32_t events_per_write, tokens_per_event, tokens, max_length;
  uint64_t ttft;
  int early_role, no_tokenize;
  enum fault fault;
  uint64_t fault_at;
} options = {.rate = 50, .events_per_write = 1, .tokens_per_event = 1, .tokens = 256, .max_length = 32768};

static struct stream **open_streams;
static uint32_t open_count, open_room;
static int poll_fd;
static volatile sig_atomic_t stopping;
static struct buffer scratch;

static void on_signal(int number) {
  (void)number;
  stopping = 1;
}

static void watch(struct stream *stream, int writable) {
  struct epoll_event event = {.events = EPOLLIN | (writable ? EPOLLOUT : 0u), .data.ptr = stream};
  epoll_ctl(poll_fd, EPOLL_CTL_MOD, stream->fd, &event);
}

/* Sends what lies in `scratch`; what the socket does not take waits. */
static void send_scratch(struct stream *stream) {
  size_t sent = 0;
  while (sent < scratch.length && !stream->out.length) {
    ssize_t went = send(stream->fd, scratch.bytes + sent, scratch.length - sent, MSG_NOSIGNAL);
    if (went >= 0) {
      sent += (size_t)went;
    } else if (errno == EAGAIN) {
      break;
    } else if (errno != EINTR) {
      stream->dead = 1;
      return;
    }
  }
  if (sent < scratch.length) {
    counters->blocked++;
    if (!stream->out.length) watch(stream, 1);
    put(&stream->out, scratch.bytes + sent, scratch.length - sent);
  }
}

static void send_waiting(struct stream *stream) {
  while (stream->written < stream->out.length) {
    ssize_t went =
        send(stream->fd, stream->out.bytes + stream->written, stream->out.length - stream->written, MSG_NOSIGNAL);
    if (went < 0) {
      if (errno != EAGAIN && errno != EINTR) stream->dead = 1;
      return;
    }
    stream->written += (size_t)went;
  }
  stream->out.length = stream->written = 0;
  watch(stream, 0);
}

static void finish(struct stream *stream, enum fate fate) {
  stream->active = 0;
  counters->active--;
  truth_of(stream->truth)->fate = fate;
}

static void begin(struct stream *stream, const struct ask *ask) {
  stream->answer = (struct answer){.id = (counters->requests + 1) * 0x9e3779b97f4a7c15u, .chat = ask->chat,
                                   .usage_last = ask->usage_last, .usage_each = ask->usage_each,
                                   .prompt_tokens = ask->prompt_tokens};
  stream->wanted = ask->tokens ? ask->tokens : options.tokens;
  if (!ask->stream) {
    stream->answer.tokens = stream->wanted;
    counters->tokens += stream->wanted;
    put_whole(&scratch, &stream->answer);
    return;
  }
  stream->truth = truth_open(stream->received);
  stream->fault = options.fault_at == counters->requests ? options.fault : NONE;
  stream->due = stream->received + options.ttft;
  stream->active = 1;
  counters->active++;
  put_head(&scratch);
  if (stream->fault == EMPTY) {
    put_role(&scratch, &stream->answer);
    put_chunk(&scratch, "data: [DONE]\n\n", 14);
    put_last_chunk(&scratch);
    finish(stream, FAULTED);
  } else if (options.early_role && ask->chat) {
    put_role(&scratch, &stream->answer);
  }
}

static void metrics(void) {
  char text[2048];
  uint64_t blocks = 16000000;
  snprintf(text, sizeof text,
           "# TYPE vllm:num_requests_running gauge\nvllm:num_requests_running{engine=\"0\"} %lu\n"
           "# TYPE vllm:num_requests_waiting gauge\nvllm:num_requests_waiting{engine=\"0\"} 0\n"
           "# TYPE vllm:kv_cache_usage_perc gauge\nvllm:kv_cache_usage_perc{engine=\"0\"} 0.01\n"
           "# TYPE vllm:generation_tokens_total counter\nvllm:generation_tokens_total{engine=\"0\"} %lu\n"
           "# TYPE vllm:cache_config_info gauge\n"
           "vllm:cache_config_info{block_size=\"16\",enable_prefix_caching=\"True\",engine=\"0\",num_gpu_blocks=\"%lu\"} 1\n",
           counters->active, counters->tokens, blocks);
  put_answer(&scratch, "200 OK", "text/plain; version=0.0.4", text);
}

static void answer(struct stream *stream, const struct ask *ask) {
  char text[512];
  switch (ask->route) {
    case GENERATE: begin(stream, ask); return;
    case METRICS: metrics(); return;
    case HEALTH: put_answer(&scratch, "200 OK", "text/plain", ""); return;
    case VERSION: put_answer(&scratch, "200 OK", "application/json", "{\"version\":\"0.0.0+bench\"}"); return;
    case TOKENIZE:
      if (options.no_tokenize) break;
      snprintf(text, sizeof text, "{\"count\":%u,\"max_model_len\":%u,\"tokens\":[]}", ask->prompt_tokens,
               options.max_length);
      put_answer(&scratch, "200 OK", "application/json", text);
      return;
    case MODELS:
      /* vLLM's owner, so that clients ask as they would ask vLLM; the header says that this is none. */
      snprintf(text, sizeof text,
               "{\"object\":\"list\",\"data\":[{\"id\":\"bench\",\"object\":\"model\",\"created\":1790000000,"
               "\"owned_by\":\"vllm\",\"root\":\"bench\",\"parent\":null,\"max_model_len\":%u}]}",
               options.max_length);
      put_answer(&scratch, "200 OK", "application/json\r\nx-tokometer-simulated: true", text);
      return;
    default: break;
  }
  put_answer(&scratch, "404 Not Found", "application/json", "{\"detail\":\"Not Found\"}");
}

/* Takes requests from what was read; one at a time while an answer runs. */
static void take_requests(struct stream *stream) {
  while (!stream->active && !stream->dead && stream->in.length) {
    struct ask ask;
    stream->in.bytes[stream->in.length] = 0;
    size_t length = read_request(stream->in.bytes, stream->in.length, &ask);
    if (!length) return;
    memmove(stream->in.bytes, stream->in.bytes + length, stream->in.length - length);
    stream->in.length -= length;
    scratch.length = 0;
    answer(stream, &ask);
    send_scratch(stream);
  }
}

/* The kernel's stamp of what was read, on the monotonic clock. */
static uint64_t stamp_of(struct msghdr *message) {
  uint64_t now = monotonic_ns();
  for (struct cmsghdr *note = CMSG_FIRSTHDR(message); note; note = CMSG_NXTHDR(message, note))
    if (note->cmsg_level == SOL_SOCKET && note->cmsg_type == SO_TIMESTAMPNS) {
      struct timespec at;
      memcpy(&at, CMSG_DATA(note), sizeof at);
      uint64_t age = wall_ns() - ((uint64_t)at.tv_sec * 1000000000u + (uint64_t)at.tv_nsec);
      return age < 60000000000u ? now - age : now;
    }
  return now;
}

static void read_stream(struct stream *stream) {
  for (;;) {
    if (stream->in.room < stream->in.length + 65537) {
      if (stream->in.room > MOST_IN) {
        stream->dead = 1;
        return;
      }
      stream->in.room = 2 * stream->in.room + 65537;
      stream->in.bytes = realloc(stream->in.bytes, stream->in.room);
    }
    char notes[128];
    struct iovec place = {stream->in.bytes + stream->in.length, stream->in.room - stream->in.length - 1};
    struct msghdr message = {.msg_iov = &place, .msg_iovlen = 1, .msg_control = notes, .msg_controllen = sizeof notes};
    ssize_t came = recvmsg(stream->fd, &message, 0);
    if (came > 0) {
      stream->in.length += (size_t)came;
      stream->received = stamp_of(&message);
      continue;
    }
    if (came == 0 || (errno != EAGAIN && errno != EINTR)) stream->dead = 1;
    return;
  }
}

static void close_stream(struct stream *stream) {
  if (stream->active) finish(stream, LEFT);
  close(stream->fd);
  open_streams[stream->place] = open_streams[--open_count];
  open_streams[stream->place]->place = stream->place;
  free(stream->in.bytes);
  free(stream->out.bytes);
  free(stream);
}

/* Gives a stream its events of this step. */
static void speak(struct stream *stream) {
  uint32_t events = 0, before_tokens = stream->answer.tokens;
  int ends = 0;
  scratch.length = 0;
  if (!before_tokens && stream->answer.chat && !options.early_role) put_role(&scratch, &stream->answer);
  uint32_t half = stream->wanted / 2 ? stream->wanted / 2 : 1;
  int failing = stream->fault != NONE && before_tokens >= half;
  while (!failing && events < options.events_per_write && !ends) {
    uint32_t left = stream->wanted - stream->answer.tokens;
    uint32_t words = left < options.tokens_per_event ? left : options.tokens_per_event;
    stream->answer.tokens += words;
    ends = stream->answer.tokens >= stream->wanted;
    put_words(&scratch, &stream->answer, words, ends);
    events++;
  }
  if (events) {
    uint64_t before = monotonic_ns();
    send_scratch(stream);
    truth_sent(stream->truth, events, stream->answer.tokens - before_tokens, before, monotonic_ns());
  }
  if (!ends && !failing) return;
  scratch.length = 0;
  if (ends) put_end(&scratch, &stream->answer);
  else if (stream->fault == ERROR) put_error(&scratch);
  else if (stream->fault == STOP) put_last_chunk(&scratch);
  else stream->dead = 1;
  if (scratch.length) send_scratch(stream);
  finish(stream, ends ? ENDED : FAULTED);
  if (!stream->dead) take_requests(stream);
}

static void step(uint64_t now) {
  counters->steps++;
  for (uint32_t at = 0; at < open_count; at++) {
    struct stream *stream = open_streams[at];
    if (stream->dead || !stream->active || stream->due > now) continue;
    if (stream->out.length) {
      if (options.rate > 0) counters->blocked++;
      continue;
    }
    speak(stream);
  }
  for (uint32_t at = open_count; at-- > 0;)
    if (open_streams[at]->dead) close_stream(open_streams[at]);
}

static void accept_all(int listener) {
  int fd, on = 1;
  while ((fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK)) >= 0) {
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    setsockopt(fd, SOL_SOCKET, SO_TIMESTAMPNS, &on, sizeof on);
    if (!counters->first_ns) counters->first_ns = wall_ns();
    struct stream *stream = calloc(1, sizeof *stream);
    if (open_count == open_room) {
      open_room = open_room ? 2 * open_room : 1024;
      open_streams = realloc(open_streams, open_room * sizeof *open_streams);
    }
    if (!stream || !open_streams) {
      perror("memory");
      exit(1);
    }
    stream->fd = fd;
    stream->place = open_count;
    open_streams[open_count++] = stream;
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = stream};
    epoll_ctl(poll_fd, EPOLL_CTL_ADD, fd, &event);
  }
}

static void serve(int listener) {
  uint64_t period = options.rate > 0 ? (uint64_t)(1e9 * options.events_per_write / options.rate) : 0;
  uint64_t next = monotonic_ns() + period;
  struct epoll_event events[512];
  while (!stopping) {
    uint64_t now = monotonic_ns(), left = now >= next ? 0 : next - now;
    struct timespec wait = {.tv_nsec = counters->active ? (long)(left % 1000000000u) : 100000000};
    if (counters->active) wait.tv_sec = (time_t)(left / 1000000000u);
    int count = epoll_pwait2(poll_fd, events, 512, &wait, NULL);
    for (int at = 0; at < count; at++) {
      struct stream *stream = events[at].data.ptr;
      if (!stream) {
        accept_all(listener);
        continue;
      }
      if (events[at].events & EPOLLOUT) send_waiting(stream);
      if (events[at].events & (EPOLLIN | EPOLLHUP | EPOLLERR)) read_stream(stream);
      if (!stream->dead) take_requests(stream);
      if (stream->dead) close_stream(stream);
    }
    now = monotonic_ns();
    if (now < next) continue;
    if (counters->active) {
      if (period && now - next > period / 2) counters->late_steps++;
      step(now);
    }
    next += period;
    now = monotonic_ns();
    if (next + period < now) {
      /* Steps that can't be made up for are left out, and told. */
      if (counters->active && period) counters->late_steps += (now - next) / period;
      next = now + (counters->active ? 0 : period);
    }
  }
}

struct files {
  const char *counters, *log, *gaps;
};

static void read_options(int count, char **words, int *port, struct files *files) {
  static const struct option known[] = {
      {"port", 1, 0, 'p'},       {"rate", 1, 0, 'r'},       {"events-per-write", 1, 0, 'k'},
      {"ttft", 1, 0, 't'},       {"tokens", 1, 0, 'n'},     {"tokens-per-event", 1, 0, 'm'},
      {"max-length", 1, 0, 'x'}, {"early-role", 0, 0, 'e'}, {"fault", 1, 0, 'f'},
      {"counters", 1, 0, 'c'},   {"log", 1, 0, 'l'},        {"gaps", 1, 0, 'g'},
      {"no-tokenize", 0, 0, 'o'}, {0, 0, 0, 0},
  };
  static const char *const faults[] = {"error", "cut", "stop", "empty"};
  for (int option; (option = getopt_long(count, words, "", known, NULL)) != -1;) {
    char *at = option == 'f' ? strchr(optarg, '@') : NULL;
    switch (option) {
      case 'p': *port = atoi(optarg); break;
      case 'r': options.rate = atof(optarg); break;
      case 'k': options.events_per_write = (uint32_t)atoi(optarg); break;
      case 'm': options.tokens_per_event = (uint32_t)atoi(optarg); break;
      case 't': options.ttft = (uint64_t)(atof(optarg) * 1e6); break;
      case 'n': options.tokens = (uint32_t)atoi(optarg); break;
      case 'x': options.max_length = (uint32_t)atoi(optarg); break;
      case 'e': options.early_role = 1; break;
      case 'o': options.no_tokenize = 1; break;
      case 'c': files->counters = optarg; break;
      case 'l': files->log = optarg; break;
      case 'g': files->gaps = optarg; break;
      case 'f':
        for (int kind = 0; at && kind < 4; kind++)
          if (!strncmp(optarg, faults[kind], (size_t)(at - optarg)) && strlen(faults[kind]) == (size_t)(at - optarg)) {
            options.fault = (enum fault)(kind + 1);
            options.fault_at = strtoull(at + 1, NULL, 10);
          }
        if (options.fault) break; /* fall through */
      default: fputs(usage_text, stderr); exit(2);
    }
  }
  if (!options.events_per_write || !options.tokens_per_event || !options.tokens) {
    fputs(usage_text, stderr);
    exit(2);
  }
}

int main(int count, char **words) {
  int port = 0, on = 1;
  struct files logs = {0};
  read_options(count, words, &port, &logs);
  signal(SIGINT, on_signal);
  signal(SIGTERM, on_signal);
  prctl(PR_SET_TIMERSLACK, 1ul);
  struct rlimit files;
  getrlimit(RLIMIT_NOFILE, &files);
  files.rlim_cur = files.rlim_max;
  setrlimit(RLIMIT_NOFILE, &files);
  truth_watch(logs.counters);

  int listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
  setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port),
                                .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  socklen_t size = sizeof address;
  if (bind(listener, (void *)&address, size) || listen(listener, 8192)) {
    perror("port");
    return 1;
  }
  getsockname(listener, (void *)&address, &size);
  printf("%d\n", ntohs(address.sin_port));
  fflush(stdout);
  poll_fd = epoll_create1(0);
  struct epoll_event event = {.events = EPOLLIN, .data.ptr = NULL};
  epoll_ctl(poll_fd, EPOLL_CTL_ADD, listener, &event);
  serve(listener);
  truth_print(logs.log, logs.gaps);
  return 0;
}
