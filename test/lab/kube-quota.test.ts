/** A quota is enforced by controllers that only the lab has; every other refusal is in the contract. */
import { test } from "node:test";
import { places } from "../../lab/places.ts";
import { type Kind, kinds } from "../../src/kube/kinds.ts";
import { eventually } from "../eventually.ts";
import { refusal } from "../kube-objects.ts";
import { labIsMissing, temporaryNamespace } from "./cluster.ts";
import { openKube } from "./open-kube.ts";

const resourceQuota: Kind = {
  group: "",
  version: "v1",
  kind: "ResourceQuota",
  plural: "resourcequotas",
  namespaced: true,
};

test("what a quota has no room for is refused as that, and not as a missing permission", {
  skip: labIsMissing,
}, async (t) => {
  const namespace = await temporaryNamespace(t);
  const kube = openKube(t, places.kubeconfig);
  const at = { namespace, name: "none" };
  await kube.create(resourceQuota, { metadata: at, spec: { hard: { "count/secrets": "0" } } });
  await eventually("the quota", async () => {
    const { status } = ((await kube.get(resourceQuota, at)) ?? {}) as { status?: { hard?: object } };
    return status?.hard !== undefined;
  });
  await refusal(kube.create(kinds.secret, { metadata: { namespace, name: "one" } }), "AKP_KUBE_QUOTA");
});
