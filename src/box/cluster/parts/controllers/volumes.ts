/** What becomes of a volume: free, or, when its claim is gone, deleted or kept for somebody to look at. */
import { kinds } from "../../../../kube/kinds.ts";
import type { Ground, Part } from "../part.ts";
import { isDeleting } from "../shapes/metadata.ts";
import type { Claim, PersistentVolume } from "../shapes/storage.ts";

export function createVolumes({ server, view }: Ground): Part {
  function work(name: string): undefined {
    const volume = view.get<PersistentVolume>(kinds.persistentVolume, { name });
    if (!volume || isDeleting(volume)) return;
    const { claimRef, persistentVolumeReclaimPolicy } = volume.spec;
    if (claimRef?.uid === undefined) show(volume, "Available");
    else if (view.find(claimRef.uid)) return;
    else if (persistentVolumeReclaimPolicy === "Delete") server.delete(kinds.persistentVolume, { name });
    else show(volume, "Released");
  }

  function show(volume: PersistentVolume, phase: "Available" | "Released"): void {
    if (volume.status?.phase === phase) return;
    server.updateStatus(kinds.persistentVolume, { ...volume, status: { phase } });
  }

  return {
    name: "volume",
    notice({ type, kind, object }, wake) {
      if (kind === kinds.persistentVolume && type !== "deleted") wake(object.metadata.name);
      const { volumeName } = kind === kinds.persistentVolumeClaim ? (object as Claim).spec : {};
      if (type === "deleted" && volumeName) wake(volumeName);
    },
    work,
  };
}
