/** What a discovery pod answers, looked at before it is believed: during an upgrade it may be of another version. */
import { z } from "zod";
import { ProviderError } from "../../../runtime/errors.ts";
import type { Hardware } from "../inventory.ts";

const whole = z.number().int().nonnegative();
/** The wire has 32 bits for a number of cores. */
const cores = whole.max(2 ** 32 - 1);
const word = z.string().max(256);

const hardware = z.object({
  architecture: word,
  cpus: z.array(z.object({ id: word, vendor: word, model: word, vcores: cores })),
  memory: z.object({ totalBytes: whole }),
  gpus: z.array(
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
  disks: z.array(
    z.object({ name: word, type: z.enum(["nvme", "ssd", "hdd"]), sizeBytes: whole, model: word.optional() }),
  ),
  interfaces: z.array(z.object({ name: word, up: z.boolean(), speedMbps: whole.optional() })),
  problems: z.array(z.string()),
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
