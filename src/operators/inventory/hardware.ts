/**
 * What discovery finds on a node, as JSON. It is validated: the pod may be of another version, and its size is bounded.
 */
import { z } from "zod";
import { ProviderError } from "../../runtime/errors.ts";

import { discoveryNameChars, discoveryParts, discoveryProblemChars, discoveryProblems } from "./discovery/tree.ts";

const whole = z.number().int().nonnegative();
/** The wire has 32 bits for a number of cores. */
const cores = whole.max(2 ** 32 - 1);
const word = z.string().max(discoveryNameChars);
const parts = <T extends z.ZodType>(part: T) => z.array(part).max(discoveryParts);

/** A GPU as the node's PCI bus and driver show it, before any registry gives it a name. */
const discoveredGpu = z.object({
  address: word,
  vendorId: word,
  deviceId: word,
  driver: word.optional(),
  driverVersion: word.optional(),
  /** What the driver calls it, "NVIDIA L40S": from this an unknown GPU's line for the registry is made. */
  driverModel: word.optional(),
  cudaVersion: word.optional(),
  computeCapability: word.optional(),
  uuid: word.optional(),
  memoryBytes: whole.optional(),
  /** How many parts MIG has split it into; absent where it is whole. */
  migInstances: whole.optional(),
  /** Absent where the driver does not tell. */
  health: z.object({ healthy: z.boolean(), reason: word.optional() }).optional(),
});

const disk = z.object({
  name: word,
  type: z.enum(["nvme", "ssd", "hdd"]),
  sizeBytes: whole,
  model: word.optional(),
});

/** The speed is absent where the kernel does not know it, as of virtual ones. */
const networkInterface = z.object({ name: word, up: z.boolean(), speedMbps: whole.optional() });

const hardware = z.object({
  architecture: word,
  /** By physical package. */
  cpus: parts(z.object({ id: word, vendor: word, model: word, vcores: cores })),
  memory: z.object({ totalBytes: whole }),
  gpus: parts(discoveredGpu),
  disks: parts(disk),
  interfaces: parts(networkInterface),
  /** What could not be read, and why; the rest still holds. The last one may say how many more there are. */
  problems: z.array(z.string().max(discoveryProblemChars)).max(discoveryProblems + 1),
});

export type Hardware = z.infer<typeof hardware>;
export type DiscoveredGpu = z.infer<typeof discoveredGpu>;
export type Disk = z.infer<typeof disk>;
export type NetworkInterface = z.infer<typeof networkInterface>;

export function readHardwareAnswer(text: string, node: string): Hardware {
  try {
    return hardware.parse(JSON.parse(text));
  } catch (thrown) {
    const [issue] = thrown instanceof z.ZodError ? thrown.issues : [];
    const reason = issue ? `${issue.path.join(".")}: ${issue.message}` : "it is not JSON";
    throw new ProviderError("AKP_DISCOVERY_MALFORMED", { node, reason }, { cause: thrown });
  }
}
