/** What discovery finds on a node, as JSON. It is validated, since the pod may have another version. */
import { z } from "zod";
import { ProviderError } from "../../runtime/errors.ts";
import { discoveryNameChars, discoveryParts, discoveryProblemChars, discoveryProblems } from "./discovery/tree.ts";

const integer = z.number().int().nonnegative();
/** The wire has 32 bits for a number of cores. */
const cores = integer.max(2 ** 32 - 1);
const word = z.string().max(discoveryNameChars);
const parts = <T extends z.ZodType>(part: T) => z.array(part).max(discoveryParts);

/** Before the registry names it. */
const discoveredGpu = z.object({
  address: word,
  vendorId: word,
  deviceId: word,
  driver: word.optional(),
  driverVersion: word.optional(),
  /** "NVIDIA L40S" */
  driverModel: word.optional(),
  cudaVersion: word.optional(),
  computeCapability: word.optional(),
  uuid: word.optional(),
  memoryBytes: integer.optional(),
  /** Absent where it is not split by MIG. */
  migInstances: integer.optional(),
  health: z.object({ healthy: z.boolean(), reason: word.optional() }).optional(),
});

const disk = z.object({
  name: word,
  type: z.enum(["nvme", "ssd", "hdd"]),
  sizeBytes: integer,
  model: word.optional(),
});

const networkInterface = z.object({ name: word, up: z.boolean(), speedMbps: integer.optional() });

const hardware = z.object({
  architecture: word,
  /** By physical package. */
  cpus: parts(z.object({ id: word, vendor: word, model: word, vcores: cores })),
  memory: z.object({ totalBytes: integer }),
  gpus: parts(discoveredGpu),
  disks: parts(disk),
  interfaces: parts(networkInterface),
  /** What could not be read, and why; the last one may be the count of further ones. */
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
