/* A driver library that plays four H200, for tests: loaded by the product's own loader.
 *
 * Power steps between two levels by the monotonic clock, and the energy counter is its exact integral, so that a
 * test can work out what is right. Built with -D switches:
 *   STUB_PID=n        the process that uses devices 0 and 1 (none: no process is listed)
 *   STUB_THROTTLED    devices are held down by heat half of the time
 *   STUB_NO_ENERGY    there is no energy counter
 *   STUB_OVERCLOCKED  clocks lie above the highest that is listed
 *   STUB_NO_DRIVER    the library is there and the driver is not
 *   STUB_TUNED        clock offsets can be asked for, and are not 0
 *   STUB_MIG          devices are cut into instances
 *   STUB_BRIDGED      links lead from pair to pair instead of to a switch
 * Functions that are missing here on purpose: NUMA node, and clock offsets without STUB_TUNED.
 */
#include <stdio.h>
#include <string.h>
#include <time.h>

typedef int nvmlReturn_t;
typedef struct { int index; } *nvmlDevice_t;
enum { SUCCESS = 0, INVALID_ARGUMENT = 2, NOT_SUPPORTED = 3, INSUFFICIENT_SIZE = 7, DRIVER_NOT_LOADED = 9 };
enum { DEVICES = 4, LINKS = 18, STEP_MS = 350, LOW_W = 300, HIGH_W = 700 };

static struct { int index; } devices[DEVICES] = {{0}, {1}, {2}, {3}};
static int number(nvmlDevice_t device) { return ((int *)device)[0]; }

static unsigned long long now_us(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (unsigned long long)now.tv_sec * 1000000ull + now.tv_nsec / 1000;
}
/* Devices that nobody uses draw 75 W. */
static int in_use(nvmlDevice_t device) { return number(device) < 2; }
static int is_high(unsigned long long us) { return us / (STEP_MS * 1000ull) % 2 == 0; }
static unsigned watts(nvmlDevice_t device) {
    if (!in_use(device)) return 75;
    return is_high(now_us()) ? HIGH_W : LOW_W;
}
__attribute__((unused)) static unsigned long long millijoules(nvmlDevice_t device) {
    unsigned long long us = now_us(), step = STEP_MS * 1000ull, pairs = us / (2 * step), rest = us % (2 * step);
    if (!in_use(device)) return us * 75 / 1000;
    unsigned long long high = pairs * step + (rest < step ? rest : step);
    return (high * HIGH_W + (us - high) * LOW_W) / 1000;
}

nvmlReturn_t nvmlInit_v2(void) {
#ifdef STUB_NO_DRIVER
    return DRIVER_NOT_LOADED;
#else
    return SUCCESS;
#endif
}
nvmlReturn_t nvmlShutdown(void) { return SUCCESS; }
nvmlReturn_t nvmlSystemGetDriverVersion(char *text, unsigned size) {
    snprintf(text, size, "580.95.05");
    return SUCCESS;
}
nvmlReturn_t nvmlSystemGetCudaDriverVersion_v2(int *version) { *version = 13000; return SUCCESS; }
nvmlReturn_t nvmlDeviceGetCount_v2(unsigned *count) { *count = DEVICES; return SUCCESS; }
nvmlReturn_t nvmlDeviceGetHandleByIndex_v2(unsigned index, nvmlDevice_t *device) {
    if (index >= DEVICES) return INVALID_ARGUMENT;
    *device = (nvmlDevice_t)&devices[index];
    return SUCCESS;
}
nvmlReturn_t nvmlDeviceGetName(nvmlDevice_t device, char *text, unsigned size) {
    (void)device;
    snprintf(text, size, "NVIDIA H200");
    return SUCCESS;
}
nvmlReturn_t nvmlDeviceGetUUID(nvmlDevice_t device, char *text, unsigned size) {
    snprintf(text, size, "GPU-00000000-aaaa-bbbb-cccc-00000000000%d", number(device));
    return SUCCESS;
}
nvmlReturn_t nvmlDeviceGetBoardPartNumber(nvmlDevice_t device, char *text, unsigned size) {
    (void)device;
    snprintf(text, size, "692-2G520-0280-001");
    return SUCCESS;
}
nvmlReturn_t nvmlDeviceGetVbiosVersion(nvmlDevice_t device, char *text, unsigned size) {
    (void)device;
    snprintf(text, size, "96.00.A5.00.01");
    return SUCCESS;
}
typedef struct {
    char legacy[16];
    unsigned domain, bus, device, id, subsystem;
    char bus_id[32];
} pci_info;
nvmlReturn_t nvmlDeviceGetPciInfo_v3(nvmlDevice_t device, pci_info *info) {
    memset(info, 0, sizeof *info);
    info->bus = 10 + number(device);
    info->id = 0x233510de;
    snprintf(info->bus_id, sizeof info->bus_id, "00000000:%02X:00.0", info->bus);
    return SUCCESS;
}
typedef struct { unsigned version; unsigned long long total, reserved, free, used; } memory_info;
nvmlReturn_t nvmlDeviceGetMemoryInfo_v2(nvmlDevice_t device, memory_info *info) {
    info->total = 150754820096ull;
    info->reserved = 600000000ull;
    info->used = in_use(device) ? 130000000000ull : 4194304ull;
    info->free = info->total - info->used;
    return SUCCESS;
}
nvmlReturn_t nvmlDeviceGetCudaComputeCapability(nvmlDevice_t device, int *major, int *minor) {
    (void)device;
    *major = 9;
    *minor = 0;
    return SUCCESS;
}
nvmlReturn_t nvmlDeviceGetEnforcedPowerLimit(nvmlDevice_t device, unsigned *limit) {
    (void)device;
    *limit = 650000;
    return SUCCESS;
}
nvmlReturn_t nvmlDeviceGetPowerManagementDefaultLimit(nvmlDevice_t device, unsigned *limit) {
    (void)device;
    *limit = 700000;
    return SUCCESS;
}
nvmlReturn_t nvmlDeviceGetPowerManagementLimitConstraints(nvmlDevice_t device, unsigned *low, unsigned *high) {
    (void)device;
    *low = 200000;
    *high = 700000;
    return SUCCESS;
}
/* 0 graphics, 1 SM, 2 memory. */
nvmlReturn_t nvmlDeviceGetMaxClockInfo(nvmlDevice_t device, int type, unsigned *mhz) {
    (void)device;
    *mhz = type == 2 ? 3201 : 1980;
    return SUCCESS;
}
nvmlReturn_t nvmlDeviceGetClockInfo(nvmlDevice_t device, int type, unsigned *mhz) {
    (void)device;
#ifdef STUB_OVERCLOCKED
    *mhz = type == 2 ? 3201 : 2100;
#else
    *mhz = type == 2 ? 3201 : is_high(now_us()) ? 1980 : 1755;
#endif
    return SUCCESS;
}
nvmlReturn_t nvmlDeviceGetApplicationsClock(nvmlDevice_t device, int type, unsigned *mhz) {
    return nvmlDeviceGetMaxClockInfo(device, type, mhz);
}
nvmlReturn_t nvmlDeviceGetEccMode(nvmlDevice_t device, int *current, int *pending) {
    (void)device;
    *current = *pending = 1;
    return SUCCESS;
}
nvmlReturn_t nvmlDeviceGetMigMode(nvmlDevice_t device, unsigned *current, unsigned *pending) {
    (void)device;
#ifdef STUB_MIG
    *current = *pending = 1;
#else
    *current = *pending = 0;
#endif
    return SUCCESS;
}
/* Seven could be there, three are. */
nvmlReturn_t nvmlDeviceGetMaxMigDeviceCount(nvmlDevice_t device, unsigned *count) {
    (void)device;
    *count = 7;
    return SUCCESS;
}
nvmlReturn_t nvmlDeviceGetMigDeviceHandleByIndex(nvmlDevice_t device, unsigned index, nvmlDevice_t *instance) {
    if (index >= 3) return 6; /* not found */
    *instance = device;
    return SUCCESS;
}
#ifdef STUB_TUNED
nvmlReturn_t nvmlDeviceGetGpcClkVfOffset(nvmlDevice_t device, int *mhz) {
    *mhz = in_use(device) ? 150 : 0;
    return SUCCESS;
}
nvmlReturn_t nvmlDeviceGetMemClkVfOffset(nvmlDevice_t device, int *mhz) {
    *mhz = in_use(device) ? -500 : 0;
    return SUCCESS;
}
#endif
nvmlReturn_t nvmlDeviceGetPersistenceMode(nvmlDevice_t device, int *mode) {
    (void)device;
    *mode = 1;
    return SUCCESS;
}
nvmlReturn_t nvmlDeviceGetMaxPcieLinkGeneration(nvmlDevice_t device, unsigned *value) {
    (void)device;
    *value = 5;
    return SUCCESS;
}
nvmlReturn_t nvmlDeviceGetMaxPcieLinkWidth(nvmlDevice_t device, unsigned *value) {
    (void)device;
    *value = 16;
    return SUCCESS;
}
/* An idle link falls back to generation 1. */
nvmlReturn_t nvmlDeviceGetCurrPcieLinkGeneration(nvmlDevice_t device, unsigned *value) {
    *value = in_use(device) ? 5 : 1;
    return SUCCESS;
}
nvmlReturn_t nvmlDeviceGetCurrPcieLinkWidth(nvmlDevice_t device, unsigned *value) {
    *value = number(device) == 1 ? 8 : 16;
    return SUCCESS;
}
nvmlReturn_t nvmlDeviceGetNvLinkState(nvmlDevice_t device, unsigned link, int *active) {
    (void)device;
    if (link >= LINKS) return INVALID_ARGUMENT;
    *active = 1;
    return SUCCESS;
}
nvmlReturn_t nvmlDeviceGetNvLinkVersion(nvmlDevice_t device, unsigned link, unsigned *version) {
    (void)device;
    (void)link;
    *version = 4;
    return SUCCESS;
}
/* Without bridges all links end at a switch. */
nvmlReturn_t nvmlDeviceGetNvLinkRemotePciInfo_v2(nvmlDevice_t device, unsigned link, pci_info *info) {
    (void)link;
    memset(info, 0, sizeof *info);
#ifdef STUB_BRIDGED
    snprintf(info->bus_id, sizeof info->bus_id, "00000000:%02X:00.0", 10 + (number(device) ^ 1));
#else
    (void)device;
    snprintf(info->bus_id, sizeof info->bus_id, "00000000:F0:00.0");
#endif
    return SUCCESS;
}
nvmlReturn_t nvmlDeviceGetTopologyCommonAncestor(nvmlDevice_t a, nvmlDevice_t b, int *level) {
    *level = number(a) / 2 == number(b) / 2 ? 40 : 50;
    return SUCCESS;
}
typedef struct { unsigned pid; unsigned long long memory; unsigned instance, compute; } process_info;
nvmlReturn_t nvmlDeviceGetComputeRunningProcesses_v3(nvmlDevice_t device, unsigned *count, process_info *infos) {
#ifdef STUB_PID
    unsigned found = in_use(device) ? 1 : 0;
#else
    unsigned found = 0;
    (void)device;
#endif
    if (*count < found || (found && !infos)) {
        *count = found;
        return INSUFFICIENT_SIZE;
    }
#ifdef STUB_PID
    if (found) infos[0] = (process_info){STUB_PID, 130000000000ull, 0xffffffffu, 0xffffffffu};
#endif
    *count = found;
    return SUCCESS;
}
/* The average over a second on these devices: not what is wanted. */
nvmlReturn_t nvmlDeviceGetPowerUsage(nvmlDevice_t device, unsigned *milliwatts) {
    *milliwatts = in_use(device) ? (HIGH_W + LOW_W) * 500 : 75000;
    return SUCCESS;
}
#ifndef STUB_NO_ENERGY
nvmlReturn_t nvmlDeviceGetTotalEnergyConsumption(nvmlDevice_t device, unsigned long long *energy) {
    *energy = millijoules(device);
    return SUCCESS;
}
#endif
nvmlReturn_t nvmlDeviceGetTemperature(nvmlDevice_t device, int sensor, unsigned *celsius) {
    (void)sensor;
    *celsius = in_use(device) ? 84 : 30;
    return SUCCESS;
}
typedef struct { unsigned gpu, memory; } rates;
nvmlReturn_t nvmlDeviceGetUtilizationRates(nvmlDevice_t device, rates *use) {
    use->gpu = in_use(device) ? 99 : 0;
    use->memory = in_use(device) ? 55 : 0;
    return SUCCESS;
}
nvmlReturn_t nvmlDeviceGetCurrentClocksThrottleReasons(nvmlDevice_t device, unsigned long long *reasons) {
    *reasons = 0x1;
    if (!in_use(device)) return SUCCESS;
    *reasons = 0x4000000000ull; /* a bit that nobody knows */
#ifdef STUB_THROTTLED
    *reasons |= is_high(now_us()) ? 0x4 : 0x20;
#endif
    return SUCCESS;
}
nvmlReturn_t nvmlDeviceGetPcieThroughput(nvmlDevice_t device, int counter, unsigned *kilobytes) {
    *kilobytes = in_use(device) ? (counter == 0 ? 2000 : 1000) : 0;
    return SUCCESS;
}
typedef struct {
    unsigned field, scope;
    long long time, latency;
    int type;
    nvmlReturn_t result;
    union { double d; unsigned u; unsigned long ul; unsigned long long ull; } value;
} field_value;
nvmlReturn_t nvmlDeviceGetFieldValues(nvmlDevice_t device, int count, field_value *values) {
    for (int i = 0; i < count; i++) {
        values[i].type = 1; /* unsigned int */
        values[i].result = SUCCESS;
        if (values[i].field == 186) values[i].value.u = watts(device) * 1000;
        else if (values[i].field == 82) values[i].value.u = in_use(device) ? 90 : 0;
        else values[i].result = NOT_SUPPORTED;
    }
    return SUCCESS;
}
