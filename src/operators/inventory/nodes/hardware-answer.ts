/**
 * What a discovery pod answers, looked at before it is believed: during an upgrade it may be of another version, and a
 * node that tells too much must not make the picture of all others too large to be sent. The bounds are discovery's own.
 */
import { z } from "zod";
import { ProviderError } from "../../../runtime/errors.ts";
import { limits } from "../../../runtime/limits.ts";
import type { Hardware } from "../inventory.ts";

const whole = z.number().int().nonnegative();
/** The wire has 32 bits for a number of cores. */
const cores = whole.max(2 ** 32 - 1);
const word = z.string().max(limits.discoveryNameChars);
const parts = <T extends z.ZodType>(part: T) => z.array(part).max(limits.discoveryParts);

const hardware = z.object({
  architecture: word,
  cpus: parts(z.object({ id: word, vendor: word, model: word, vcores: cores })),
  memory: z.object({ totalBytes: whole }),
  gpus: parts(
    z.object({
      address: word,
      vendorId: word,
      deviceId: word,
      driverModel: word.optional(),
      driver: word.optional(),
      driverVersion: word.optional(),
      cudaVersion: word.optional(),
      computeCapability: word.optional(),
      uuid: word.optional(),
      memoryBytes: whole.optional(),
      migInstances: whole.optional(),
      health: z.object({ healthy: z.boolean(), reason: word.optional() }).optional(),
    }),
  ),
  disks: parts(
    z.object({ name: word, type: z.enum(["nvme", "ssd", "hdd"]), sizeBytes: whole, model: word.optional() }),
  ),
  interfaces: parts(z.object({ name: word, up: z.boolean(), speedMbps: whole.optional() })),
  // And one that says how many more there are.
  problems: z.array(z.string().max(limits.discoveryProblemChars)).max(limits.discoveryProblems + 1),
});

export function readHardwareAnswer(text: string, node: string): Hardware {
  try {
    return hardware.parse(JSON.parse(text)) as Hardware;
  } catch (thrown) {
    const [issue] = thrown instanceof z.ZodError ? thrown.issues : [];
    const reason = issue ? `${issue.path.join(".")}: ${issue.message}` : "it is not JSON";
    throw new ProviderError("AKP_DISCOVERY_MALFORMED", { node, reason }, { cause: thrown });
  }
}
