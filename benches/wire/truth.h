/* What the server really did: stamps, kept until it ends. All times in ns of the monotonic clock. */
#ifndef TRUTH_H
#define TRUTH_H

#include <stddef.h>
#include <stdint.h>

/* How a request ended. */
enum fate { RUNNING, ENDED, LEFT, FAULTED };

/* One streamed request. A send is an interval: the clock before and after the call. */
struct request {
  uint64_t received; /* the kernel's stamp of its last segment */
  uint64_t first_before, first_after;
  uint64_t last_before, last_after;
  uint32_t events; /* payload events */
  uint32_t tokens;
  uint8_t fate;
};

/* Counters that another process may watch while the server runs. */
struct counters {
  volatile uint64_t requests; /* streamed requests taken so far */
  volatile uint64_t active;   /* streams that answer now */
  volatile uint64_t events;   /* payload events sent */
  volatile uint64_t tokens;
  volatile uint64_t steps;
  volatile uint64_t late_steps; /* steps that began more than half a period late, or were left out */
  volatile uint64_t blocked;    /* writes that the client's full socket held back */
  volatile uint64_t first_ns;   /* when the first connection came, wall clock */
};

extern struct counters *counters;

uint64_t monotonic_ns(void);
uint64_t wall_ns(void);

/* The start. Puts the counters into a file that others can map; in memory alone where `path` is null. */
void truth_watch(const char *path);
uint32_t truth_open(uint64_t received);
struct request *truth_of(uint32_t index);
/* `events` payload events of one write between the two clock reads. */
void truth_sent(uint32_t index, uint32_t events, uint32_t tokens, uint64_t before, uint64_t after);
/* Prints one JSON line. Where they are not null, writes a row per request into `log`, and into `gap_log` three
 * numbers of 32 bits per gap: the request, the gap in units of 100 ns, and when it ended, in units of 100 us from
 * `began_ns` in the line. */
void truth_print(const char *log, const char *gap_log);

#endif
