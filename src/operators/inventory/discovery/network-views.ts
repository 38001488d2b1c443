/** The same survey in the shapes that the network's own discovery serves, for clients that know those. */
import type { Survey } from "./discover.ts";
import { isGpuCard } from "./gpu-cards.ts";
import type { PciDevice } from "./pci-devices.ts";
import type { LogicalProcessor, ProcessorPackage } from "./processors.ts";

/** By path. */
export const networkViews: Readonly<Record<string, (survey: Survey) => unknown>> = {
  "/cpu": ({ packages }) => ({
    total_cores: sum(packages.map((each) => coresOf(each).size)),
    ...threads(sum(packages.map(({ processors }) => processors.length))),
    processors: packages.map(showPackage),
  }),
  "/gpu": ({ pciDevices }) => ({
    cards: pciDevices
      .filter(isGpuCard)
      .map((device, index) => ({ address: device.address, index, pci: showPci(device) })),
  }),
  "/memory": ({ hardware, pageSizes }) => ({
    // What the firmware keeps for itself is in thousands of files, and nobody asks.
    total_physical_bytes: hardware.memory.totalBytes,
    total_usable_bytes: hardware.memory.totalBytes,
    supported_page_sizes: pageSizes,
  }),
  "/pci": ({ pciDevices }) => ({ devices: pciDevices.map(showPci) }),
};

function showPackage(each: ProcessorPackage) {
  return {
    id: Number(each.id),
    total_cores: coresOf(each).size,
    ...threads(each.processors.length),
    vendor: each.vendor,
    model: each.model,
    capabilities: each.features,
    cores: [...coresOf(each)].map(([id, members]) => ({
      id,
      ...threads(members.length),
      logical_processors: members.map(({ index }) => index),
    })),
  };
}

function coresOf({ processors }: ProcessorPackage): Map<number, LogicalProcessor[]> {
  return Map.groupBy(processors, ({ coreId }) => coreId);
}

/** Newer clients read the first name, older ones the second. */
function threads(count: number) {
  return { total_hardware_threads: count, total_threads: count };
}

function showPci(device: PciDevice) {
  const { driver, address, vendorId, deviceId, subsystemDeviceId, revision, classCode } = device;
  return {
    driver: driver ?? "",
    address,
    vendor: named(vendorId),
    product: named(deviceId),
    revision,
    subsystem: named(subsystemDeviceId),
    class: named(classCode.slice(0, 2)),
    subclass: named(classCode.slice(2, 4)),
    programming_interface: named(classCode.slice(4)),
  };
}

/** The ids are what counts; we carry no list of names. */
function named(id: string) {
  return { id, name: "unknown" };
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, each) => total + each, 0);
}
