import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { shellImage } from "../../lab/images.ts";
import { places } from "../../lab/places.ts";
import { eventually } from "../support/eventually.ts";
import {
  create,
  execute,
  kubectl,
  labIsMissing,
  podStartsWithinMs,
  read,
  runPod,
  temporaryNamespace,
} from "./cluster.ts";

describe("storage in the lab", { skip: labIsMissing, concurrency: true }, () => {
  for (const storageClass of ["beta2", "beta3"]) {
    it(`a claim of class ${storageClass} holds its data while pods come and go, and its folder goes with it`, async (t) => {
      const namespace = await temporaryNamespace(t);
      await create(`/api/v1/namespaces/${namespace}/persistentvolumeclaims`, {
        metadata: { name: "data" },
        spec: {
          storageClassName: storageClass,
          accessModes: ["ReadWriteOnce"],
          resources: { requests: { storage: "1Mi" } },
        },
      });
      const pod = { image: shellImage, claims: { data: "/data" } };
      await runPod(namespace, "first", pod);
      await execute(namespace, "first", "sh", "-c", "echo kept > /data/note");
      await kubectl("delete", "pod", "-n", namespace, "first");
      await runPod(namespace, "second", pod);
      assert.equal(await execute(namespace, "second", "cat", "/data/note"), "kept\n");

      const folder = await folderOf(namespace, "data");
      assert.equal(readFileSync(join(folder, "note"), "utf8"), "kept\n");
      await kubectl("delete", "pod", "-n", namespace, "second");
      await kubectl("delete", "pvc", "-n", namespace, "data");
      await eventually("the folder to go", () => !existsSync(folder), podStartsWithinMs);
    });
  }
});

/** Where on the node's disk a claim's volume is. */
async function folderOf(namespace: string, claim: string): Promise<string> {
  const path = `/api/v1/namespaces/${namespace}/persistentvolumeclaims/${claim}`;
  const { spec } = await read<{ spec: { volumeName: string } }>(path);
  const volume = await read<{ spec: { hostPath?: { path: string } } }>(`/api/v1/persistentvolumes/${spec.volumeName}`);
  const folder = volume.spec.hostPath?.path ?? "";
  assert.ok(folder.startsWith(`${places.volumes}/`), `${folder} is in the lab's folder`);
  return folder;
}
