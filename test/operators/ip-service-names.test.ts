/** Services of leased ports and Services of the lease itself that are called alike. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { fieldsOf } from "../../src/kube/json-fields.ts";
import { kinds } from "../../src/kube/kinds.ts";
import { idLabels } from "../../src/kube/objects/lease-labels.ts";
import { leaseOf, openIpStage } from "../support/stages/ip-stage.ts";

const ann = leaseOf(1, 1);

test("a tenant's service with the name of a port's Service is left alone", async (t) => {
  const stage = await openIpStage(t);
  stage.declare(ann);
  await stage.settled();
  const namespace = stage.namespaceOf(ann);
  const name = "web-ip-80-tcp";
  let writes = 0;
  const put = () => {
    const labels = { ...idLabels(ann), "akash.network/manifest-service": name };
    const spec = {
      type: "ClusterIP",
      selector: { "akash.network": "true", "akash.network/manifest-service": name },
      ports: [{ name: "0-5432", port: 5432, targetPort: 5432, protocol: "TCP" }],
    };
    stage.cluster.server.apply(
      kinds.service,
      { metadata: { name, namespace, labels }, spec },
      { manager: "akash-provider", force: true },
    );
    writes += 1;
  };
  // As the loop of its lease does: whatever is not as it should be is put back.
  t.after(
    stage.cluster.server.subscribe(({ kind, object, type }) => {
      if (kind !== kinds.service || object.metadata.name !== name || writes > 20) return;
      const { selector } = fieldsOf(object["spec"]);
      if (type === "deleted" || fieldsOf(selector)["akash.network/manifest-service"] !== name) queueMicrotask(put);
    }),
  );
  put();
  await stage.settled(30_000);
  assert.ok(writes < 4, `${writes} writes`);
  const own = stage.cluster.server.get(kinds.service, { namespace, name });
  assert.equal(fieldsOf(fieldsOf(own?.["spec"])["selector"])["akash.network/manifest-service"], name);
  assert.equal(fieldsOf(own?.["spec"])["type"], "ClusterIP");
  assert.deepEqual(stage.shown(), ["blue TCP 80 → web:8080 of 1 at 172.30.0.200"]);
});
