#include "truth.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

static struct counters in_memory;
struct counters *counters = &in_memory;

static struct request *requests;
static uint32_t request_count, request_room;
/* A gap between payload events of a request, in units of 100 ns, and when it ended, in units of 100 us from `began`. */
struct gap {
  uint32_t request, length, at;
};
static uint64_t began;
static struct gap *gaps;
static size_t gap_count, gap_room;

static uint64_t clock_ns(clockid_t which) {
  struct timespec now;
  clock_gettime(which, &now);
  return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

uint64_t monotonic_ns(void) { return clock_ns(CLOCK_MONOTONIC); }

uint64_t wall_ns(void) { return clock_ns(CLOCK_REALTIME); }

static void *grown(void *old, size_t bytes) {
  void *more = realloc(old, bytes);
  if (!more) {
    perror("memory");
    exit(1);
  }
  return more;
}

void truth_watch(const char *path) {
  began = monotonic_ns();
  if (!path) return;
  int file = open(path, O_RDWR | O_CREAT | O_TRUNC, 0644);
  if (file < 0 || ftruncate(file, sizeof *counters)) {
    perror(path);
    exit(1);
  }
  void *shared = mmap(NULL, sizeof *counters, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  close(file);
  if (shared == MAP_FAILED) {
    perror(path);
    exit(1);
  }
  counters = shared;
}

uint32_t truth_open(uint64_t received) {
  if (request_count == request_room) {
    request_room = request_room ? 2 * request_room : 4096;
    requests = grown(requests, request_room * sizeof *requests);
  }
  requests[request_count] = (struct request){.received = received};
  counters->requests++;
  return request_count++;
}

struct request *truth_of(uint32_t index) { return &requests[index]; }

static void note_gap(uint32_t request, uint64_t ns, uint64_t end) {
  if (gap_count == gap_room) {
    gap_room = gap_room ? 2 * gap_room : 1 << 20;
    gaps = grown(gaps, gap_room * sizeof *gaps);
  }
  uint64_t units = ns / 100;
  gaps[gap_count++] =
      (struct gap){request, units > UINT32_MAX ? UINT32_MAX : (uint32_t)units, (uint32_t)((end - began) / 100000)};
}

void truth_sent(uint32_t index, uint32_t events, uint32_t tokens, uint64_t before, uint64_t after) {
  struct request *request = &requests[index];
  if (request->events == 0) {
    request->first_before = before;
    request->first_after = after;
  } else {
    note_gap(index, before - request->last_before, before);
  }
  for (uint32_t more = 1; more < events; more++) note_gap(index, 0, before);
  request->last_before = before;
  request->last_after = after;
  request->events += events;
  request->tokens += tokens;
  counters->events += events;
  counters->tokens += tokens;
}

static int by_size(const void *one, const void *other) {
  uint32_t a = *(const uint32_t *)one, b = *(const uint32_t *)other;
  return (a > b) - (a < b);
}

/* Linear interpolation at (n - 1) * p, as the method has it; in ms. */
static double percentile(const uint32_t *sorted, size_t count, double p) {
  if (!count) return 0;
  double place = (double)(count - 1) * p;
  size_t below = (size_t)place, above = below + 1 < count ? below + 1 : below;
  return (sorted[below] + (place - (double)below) * ((double)sorted[above] - sorted[below])) / 1e4;
}

static void print_samples(const char *name, uint32_t *samples, size_t count) {
  qsort(samples, count, sizeof *samples, by_size);
  double sum = 0;
  for (size_t at = 0; at < count; at++) sum += samples[at];
  printf(",\"%s\":{\"n\":%zu,\"mean\":%.4f,\"p50\":%.4f,\"p90\":%.4f,\"p99\":%.4f,\"max\":%.4f}", name, count,
         count ? sum / 1e4 / (double)count : 0, percentile(samples, count, 0.5), percentile(samples, count, 0.9),
         percentile(samples, count, 0.99), percentile(samples, count, 1));
}

static void write_log(const char *path) {
  FILE *file = fopen(path, "w");
  if (!file) {
    perror(path);
    exit(1);
  }
  fprintf(file, "request,received_ns,first_before_ns,first_after_ns,last_before_ns,last_after_ns,events,tokens,fate\n");
  static const char *const fates[] = {"running", "ended", "left", "faulted"};
  for (uint32_t at = 0; at < request_count; at++) {
    const struct request *row = &requests[at];
    fprintf(file, "%u,%lu,%lu,%lu,%lu,%lu,%u,%u,%s\n", at, row->received, row->first_before, row->first_after,
            row->last_before, row->last_after, row->events, row->tokens, fates[row->fate]);
  }
  fclose(file);
}

static void write_gaps(const char *path) {
  FILE *file = fopen(path, "wb");
  if (!file || fwrite(gaps, sizeof *gaps, gap_count, file) != gap_count) {
    perror(path);
    exit(1);
  }
  fclose(file);
}

void truth_print(const char *log, const char *gap_log) {
  uint32_t *ttft = grown(NULL, (request_count + 1) * sizeof *ttft);
  uint32_t *between = grown(NULL, (request_count + 1) * sizeof *between);
  size_t started = 0, paced = 0;
  uint64_t by_fate[4] = {0};
  for (uint32_t at = 0; at < request_count; at++) {
    const struct request *row = &requests[at];
    by_fate[row->fate]++;
    if (!row->events) continue;
    ttft[started++] = (uint32_t)((row->first_before - row->received) / 100);
    if (row->tokens > 1)
      between[paced++] = (uint32_t)((row->last_before - row->first_before) / 100 / (row->tokens - 1));
  }
  struct rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  double cpu = (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
               (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
  printf("{\"began_ns\":%lu", began);
  printf(",\"requests\":%u,\"ended\":%lu,\"left\":%lu,\"faulted\":%lu,\"running\":%lu", request_count, by_fate[ENDED],
         by_fate[LEFT], by_fate[FAULTED], by_fate[RUNNING]);
  printf(",\"events\":%lu,\"tokens\":%lu,\"steps\":%lu,\"late_steps\":%lu,\"blocked\":%lu,\"cpu_s\":%.3f",
         counters->events, counters->tokens, counters->steps, counters->late_steps, counters->blocked, cpu);
  print_samples("ttft_ms", ttft, started);
  print_samples("time_between_tokens_ms", between, paced);
  uint32_t *lengths = grown(NULL, (gap_count + 1) * sizeof *lengths);
  for (size_t at = 0; at < gap_count; at++) lengths[at] = gaps[at].length;
  print_samples("gap_ms", lengths, gap_count);
  printf("}\n");
  if (log) write_log(log);
  if (gap_log) write_gaps(gap_log);
}
