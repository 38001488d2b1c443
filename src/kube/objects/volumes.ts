/** The volumes of a service: claims that outlive its pods, memory, and the node's own disk. */

import { volumeKind } from "../../market/attributes.ts";
import type { ManifestService } from "../../market/manifest.ts";

interface ServiceVolume {
  readonly name: string;
  readonly bytes: bigint;
  readonly is: "persistent" | "memory" | "disk";
  readonly storageClass: string | undefined;
}

function volumesOf({ name: service, resources }: ManifestService): ServiceVolume[] {
  return (resources.storage ?? []).map((volume) => {
    const { persistent, storageClass } = volumeKind(volume);
    const is = persistent ? "persistent" : storageClass === "ram" ? "memory" : "disk";
    return { name: `${service}-${volume.name}`, bytes: BigInt(volume.size.val), is, storageClass };
  });
}

function bytesOf(service: ManifestService, is: ServiceVolume["is"]): bigint {
  return volumesOf(service).reduce((sum, volume) => (volume.is === is ? sum + volume.bytes : sum), 0n);
}

/** A container may fill this besides the memory that it has for itself. */
export function memoryVolumeBytes(service: ManifestService): bigint {
  return bytesOf(service, "memory");
}

/** All of them together: where several are asked for, each is paid for. */
export function diskBytes(service: ManifestService): bigint {
  return bytesOf(service, "disk");
}

/** In the order in which the manifest names them. */
export function persistentClasses(service: ManifestService): string[] {
  const named = volumesOf(service).flatMap(({ is, storageClass }) =>
    is === "persistent" && storageClass !== undefined ? [storageClass] : [],
  );
  return [...new Set(named)];
}

export function claimTemplates(service: ManifestService): object[] {
  return volumesOf(service)
    .filter(({ is }) => is === "persistent")
    .map(({ name, bytes, storageClass }) => ({
      metadata: { name },
      spec: {
        accessModes: ["ReadWriteOnce"],
        volumeMode: "Filesystem",
        resources: { requests: { storage: `${bytes}` } },
        // Without a name the cluster's own default is taken.
        ...(storageClass !== undefined && storageClass !== "default" && { storageClassName: storageClass }),
      },
    }));
}

/** Those that go with the pod. What lies on the node's disk needs one only where the tenant wants it at a place of its own. */
export function podVolumes(service: ManifestService): object[] {
  const mounted = new Set(mountsOf(service).map(({ name }) => name));
  return volumesOf(service)
    .filter(({ is, name }) => is === "memory" || (is === "disk" && mounted.has(name)))
    .map(({ name, bytes, is }) => ({
      name,
      emptyDir: { ...(is === "memory" && { medium: "Memory" }), sizeLimit: `${bytes}` },
    }));
}

export function volumeMounts(service: ManifestService): object[] {
  return mountsOf(service).map(({ name, mount, readOnly }) => ({
    name,
    mountPath: mount,
    ...(readOnly && { readOnly }),
  }));
}

/** A service may mention a volume and not mount it. */
function mountsOf({ name: service, params }: ManifestService) {
  return (params?.storage ?? [])
    .filter(({ mount }) => mount !== "")
    .map(({ name, ...mount }) => ({ name: `${service}-${name}`, ...mount }));
}
