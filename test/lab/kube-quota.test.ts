/** A quota is enforced by controllers that only the lab has; every other rejection is in the contract. */
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { test } from "node:test";
import { places } from "../../lab/places.ts";
import { type Kind, kinds } from "../../src/kube/kinds.ts";
import { ProviderError } from "../../src/runtime/errors.ts";
import { eventually } from "../support/eventually.ts";
import { labIsMissing, temporaryNamespace } from "./cluster.ts";
import { openKube } from "./open-kube.ts";

const resourceQuota: Kind = {
  group: "",
  version: "v1",
  kind: "ResourceQuota",
  plural: "resourcequotas",
  namespaced: true,
};

test("a create that exceeds a quota is rejected with the quota error, not as a missing permission", {
  skip: labIsMissing,
}, async (t) => {
  const namespace = await temporaryNamespace(t);
  const kube = openKube(t, places.kubeconfig);
  const at = { namespace, name: "none" };
  await kube.create(resourceQuota, { metadata: at, spec: { hard: { "count/secrets": "0" } } });
  // The API server's admission may learn of the quota after its controller has written the status.
  await eventually("the quota is enforced", async () => {
    try {
      await kube.create(kinds.secret, { metadata: { namespace, name: `secret-${randomUUID()}` } });
      return false;
    } catch (thrown) {
      assert.equal(ProviderError.from(thrown).code, "AKP_KUBE_QUOTA");
      return true;
    }
  });
});
