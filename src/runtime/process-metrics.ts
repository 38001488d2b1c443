/** The usual metrics of a Node process under their usual names, so that existing dashboards work. */
import { readdirSync } from "node:fs";
import type { Metrics } from "./metrics.ts";

export function readProcess(read: Metrics["read"]): void {
  const seconds = (microseconds: number) => microseconds / 1e6;
  const startedSeconds = performance.timeOrigin / 1e3;
  read({ name: "process_cpu_user_seconds_total", help: "User CPU time spent", kind: "counter" }, () =>
    seconds(process.cpuUsage().user),
  );
  read({ name: "process_cpu_system_seconds_total", help: "System CPU time spent", kind: "counter" }, () =>
    seconds(process.cpuUsage().system),
  );
  read({ name: "process_cpu_seconds_total", help: "CPU time spent", kind: "counter" }, () => {
    const { user, system } = process.cpuUsage();
    return seconds(user + system);
  });
  read(
    { name: "process_start_time_seconds", help: "When the process started, since the epoch", kind: "gauge" },
    () => startedSeconds,
  );
  read({ name: "process_resident_memory_bytes", help: "Resident memory", kind: "gauge" }, () =>
    process.memoryUsage.rss(),
  );
  read({ name: "process_open_fds", help: "Open file descriptors", kind: "gauge" }, openFiles);
  read(
    { name: "nodejs_heap_size_total_bytes", help: "Heap reserved by V8", kind: "gauge" },
    () => process.memoryUsage().heapTotal,
  );
  read(
    { name: "nodejs_heap_size_used_bytes", help: "Heap in use", kind: "gauge" },
    () => process.memoryUsage().heapUsed,
  );
  read(
    { name: "nodejs_external_memory_bytes", help: "Memory of buffers and the like, outside the heap", kind: "gauge" },
    () => process.memoryUsage().external,
  );
  read(
    { name: "nodejs_active_resources", help: "What keeps the event loop alive", kind: "gauge", labels: ["type"] },
    activeResources,
  );
  read({ name: "nodejs_version_info", help: "The version of Node", kind: "gauge", labels: ["version"] }, () => [
    [{ version: process.version }, 1],
  ]);
}

/** Only Linux has this list; elsewhere the metric has no value. */
function openFiles() {
  return process.platform === "linux" ? readdirSync("/proc/self/fd").length : [];
}

function activeResources() {
  const counts = new Map<string, number>();
  for (const type of process.getActiveResourcesInfo()) counts.set(type, (counts.get(type) ?? 0) + 1);
  return [...counts].map(([type, count]) => [{ type }, count] as const);
}
