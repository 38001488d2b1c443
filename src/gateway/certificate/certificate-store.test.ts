import assert from "node:assert/strict";
import { existsSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { checkSecretStore } from "../../../test/support/contracts/secret-store.contract.ts";
import { temporaryFolder } from "../../../test/support/folder.ts";
import { namespace, simulateKube } from "../../../test/support/kube/simulated-kube.ts";
import type { SimulatedCluster } from "../../box/cluster/simulated-kube.ts";
import { openBoundary } from "../../runtime/boundary.ts";
import { createFileStore } from "./certificate-store.ts";

test("keys have mode 0600, whatever exists at the temporary path", async (t) => {
  const folder = temporaryFolder(t);
  const path = join(folder, "certificates.pem");
  const store = createFileStore(path, openBoundary);
  const nothing = { certificates: [], version: undefined };
  const { signal } = new AbortController();
  writeFileSync(`${path}.new`, "", { mode: 0o644 });
  await store.write([{ certificate: "certificate\n", key: "key\n" }], nothing, signal);
  assert.equal(statSync(path).mode & 0o777, 0o600);
  symlinkSync(join(folder, "elsewhere"), `${path}.new`);
  await store.write([{ certificate: "certificate\n", key: "key\n" }], nothing, signal);
  assert.equal(existsSync(join(folder, "elsewhere")), false);
});

let cluster: SimulatedCluster | undefined;

checkSecretStore({
  name: "the simulated API server",
  namespace,
  open(t) {
    cluster ??= simulateKube(t);
    return cluster.connect("akash-provider");
  },
});
