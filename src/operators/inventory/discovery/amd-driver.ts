/** What amdgpu tells about a card. */
import type { DriverFacts } from "./driver-facts.ts";
import type { Tree } from "./tree.ts";

export async function readAmdFacts(tree: Tree, path: string): Promise<DriverFacts> {
  // Only the driver that AMD ships itself has a version of its own; the kernel's is as old as the kernel.
  const driverVersion = await tree.name("/sys/module/amdgpu/version");
  const driverModel = await tree.name(`${path}/product_name`);
  const uniqueId = await tree.name(`${path}/unique_id`);
  const memoryBytes = await tree.whole(`${path}/mem_info_vram_total`);
  const lostBits = await readUncorrectable(tree, path);
  return {
    ...(driverVersion ? { driverVersion } : {}),
    ...(driverModel ? { driverModel } : {}),
    ...(uniqueId && /^[0-9a-f]{16}$/i.test(uniqueId) ? { uuid: `GPU-${uniqueId.toLowerCase()}` } : {}),
    ...(memoryBytes ? { memoryBytes } : {}),
    ...(lostBits === undefined ? {} : { health: healthOf(lostBits) }),
  };
}

/** Errors in the card's memory that could not be corrected since the driver was loaded. */
async function readUncorrectable(tree: Tree, path: string): Promise<number | undefined> {
  const counts = /^ue:\s*(\d+)$/m.exec((await tree.text(`${path}/ras/umc_err_count`)) ?? "");
  return counts ? Number(counts[1]) : undefined;
}

function healthOf(lostBits: number): NonNullable<DriverFacts["health"]> {
  if (lostBits === 0) return { healthy: true };
  return { healthy: false, reason: `its memory had ${lostBits} errors that could not be corrected` };
}
