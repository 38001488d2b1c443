import type { GpuCard } from "../inventory.ts";

/** All that a driver may add to what the bus shows. */
export type DriverFacts = Partial<
  Pick<GpuCard, "driverVersion" | "driverModel" | "cudaVersion" | "uuid" | "memoryBytes" | "migInstances" | "health">
>;
