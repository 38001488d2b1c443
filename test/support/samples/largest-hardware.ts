/** A machine with as many parts and as long names as discovery ever tells of, in characters of three bytes each. */

import {
  discoveryNameChars,
  discoveryParts,
  discoveryProblemChars,
  discoveryProblems,
} from "../../../src/operators/inventory/discovery/tree.ts";
import type { Hardware } from "../../../src/operators/inventory/hardware.ts";

const name = "\u20ac".repeat(discoveryNameChars);
const most = Number.MAX_SAFE_INTEGER;

function parts<T>(part: T): T[] {
  return Array.from({ length: discoveryParts }, () => part);
}

export const largestHardware: Hardware = {
  architecture: name,
  cpus: parts({ id: name, vendor: name, model: name, vcores: 2 ** 32 - 1 }),
  memory: { totalBytes: most },
  gpus: parts({
    address: name,
    vendorId: name,
    deviceId: name,
    driver: name,
    driverVersion: name,
    driverModel: name,
    cudaVersion: name,
    computeCapability: name,
    uuid: name,
    memoryBytes: most,
    migInstances: most,
    health: { healthy: false, reason: name },
  }),
  disks: parts({ name, type: "nvme", sizeBytes: most, model: name }),
  interfaces: parts({ name, up: true, speedMbps: most }),
  problems: Array.from({ length: discoveryProblems + 1 }, () => "\u20ac".repeat(discoveryProblemChars)),
};
