/* reader: the floor. It asks for N streams, and then does nothing but wait, recv and count events.
 *
 * usage: reader PORT STREAMS TOKENS
 *
 * Every client of this kind of stream must at least do this much work; what a client costs is told as a multiple of
 * it. It ends when all streams have ended, or when it is told to, and prints one JSON line.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

static volatile sig_atomic_t stopping;

static void on_signal(int number) {
  (void)number;
  stopping = 1;
}

/* Events of a read: each starts with `data: `, which no text of the server holds. One that is cut within these six
 * bytes by the end of a read is counted by its later part. */
static uint64_t count_events(const char *bytes, size_t length, char *tail, size_t *tail_length) {
  char joint[12];
  uint64_t events = 0;
  if (*tail_length) {
    size_t more = length < 5 ? length : 5;
    memcpy(joint, tail, *tail_length);
    memcpy(joint + *tail_length, bytes, more);
    if (memmem(joint, *tail_length + more, "data: ", 6)) events++;
  }
  const char *at = bytes, *end = bytes + length;
  while ((at = memmem(at, (size_t)(end - at), "data: ", 6))) {
    events++;
    at += 6;
  }
  *tail_length = length < 5 ? length : 5;
  memcpy(tail, end - *tail_length, *tail_length);
  return events;
}

int main(int count, char **words) {
  if (count != 4) {
    fprintf(stderr, "usage: reader PORT STREAMS TOKENS\n");
    return 2;
  }
  int port = atoi(words[1]), streams = atoi(words[2]), on = 1;
  struct rlimit files;
  getrlimit(RLIMIT_NOFILE, &files);
  files.rlim_cur = files.rlim_max;
  setrlimit(RLIMIT_NOFILE, &files);
  signal(SIGTERM, on_signal);
  signal(SIGINT, on_signal);

  char body[512], request[1024];
  int body_length = snprintf(body, sizeof body,
                             "{\"model\":\"bench\",\"messages\":[{\"role\":\"user\",\"content\":\"count\"}],\"max_tokens\":%s,"
                             "\"stream\":true,\"stream_options\":{\"include_usage\":true,\"continuous_usage_stats\":true}}",
                             words[3]);
  int request_length = snprintf(request, sizeof request,
                                "POST /v1/chat/completions HTTP/1.1\r\nhost: bench\r\ncontent-type: application/json\r\n"
                                "content-length: %d\r\n\r\n%s",
                                body_length, body);
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port),
                                .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  int poll_fd = epoll_create1(0), open = 0;
  int *fds = calloc((size_t)streams, sizeof *fds);
  struct tail {
    char bytes[6];
    size_t length;
  } *tails = calloc((size_t)streams + 65536, sizeof *tails);
  if (!fds || !tails) return 1;
  for (; open < streams; open++) {
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    if (fd < 0 || connect(fd, (void *)&address, sizeof address)) {
      perror("connect");
      return 1;
    }
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    struct epoll_event event = {.events = EPOLLIN, .data.fd = fd};
    epoll_ctl(poll_fd, EPOLL_CTL_ADD, fd, &event);
    fds[open] = fd;
  }
  for (int at = 0; at < streams; at++)
    if (write(fds[at], request, (size_t)request_length) != request_length) {
      perror("write");
      return 1;
    }

  static char bytes[1 << 16];
  struct epoll_event ready[1024];
  uint64_t events = 0, reads = 0, read_bytes = 0;
  while (open && !stopping) {
    int some = epoll_wait(poll_fd, ready, 1024, 1000);
    for (int at = 0; at < some; at++) {
      int fd = ready[at].data.fd;
      ssize_t length = recv(fd, bytes, sizeof bytes, MSG_DONTWAIT);
      if (length <= 0) {
        close(fd);
        open--;
        continue;
      }
      reads++;
      read_bytes += (uint64_t)length;
      events += count_events(bytes, (size_t)length, tails[fd].bytes, &tails[fd].length);
      if (length >= 5 && !memcmp(bytes + length - 5, "0\r\n\r\n", 5)) {
        close(fd);
        open--;
      }
    }
  }
  struct rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  double cpu = (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
               (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
  printf("{\"streams\":%d,\"ended\":%d,\"events\":%lu,\"reads\":%lu,\"bytes\":%lu,\"cpu_s\":%.3f,\"peak_kib\":%ld}\n",
         streams, streams - open, events, reads, read_bytes, cpu, usage.ru_maxrss);
  return 0;
}
