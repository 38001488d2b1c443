/** The usual metrics of a Node process under their usual names, so that existing dashboards work. */
import { readdirSync } from "node:fs";
import type { Metrics } from "./metrics.ts";

const seconds = (microseconds: number) => microseconds / 1e6;

const counters = [
  ["process_cpu_user_seconds_total", "User CPU time spent", () => seconds(process.cpuUsage().user)],
  ["process_cpu_system_seconds_total", "System CPU time spent", () => seconds(process.cpuUsage().system)],
  ["process_cpu_seconds_total", "CPU time spent", cpuSeconds],
] as const;

const gauges = [
  ["process_start_time_seconds", "When the process started, since the epoch", () => performance.timeOrigin / 1e3],
  ["process_resident_memory_bytes", "Resident memory", () => process.memoryUsage.rss()],
  ["process_open_fds", "Open file descriptors", openFiles],
  ["nodejs_heap_size_total_bytes", "Heap reserved by V8", () => process.memoryUsage().heapTotal],
  ["nodejs_heap_size_used_bytes", "Heap in use", () => process.memoryUsage().heapUsed],
  [
    "nodejs_external_memory_bytes",
    "Memory of buffers and the like, outside the heap",
    () => process.memoryUsage().external,
  ],
] as const;

export function readProcess(read: Metrics["read"]): void {
  for (const [name, help, value] of counters) read({ name, help, kind: "counter" }, value);
  for (const [name, help, value] of gauges) read({ name, help, kind: "gauge" }, value);
  const activeHelp = "What keeps the event loop alive";
  read({ name: "nodejs_active_resources", help: activeHelp, kind: "gauge", labels: ["type"] }, activeResources);
  const versionHelp = "The version of Node";
  read({ name: "nodejs_version_info", help: versionHelp, kind: "gauge", labels: ["version"] }, () => [
    [{ version: process.version }, 1],
  ]);
}

function cpuSeconds(): number {
  const { user, system } = process.cpuUsage();
  return seconds(user + system);
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
