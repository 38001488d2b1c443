import assert from "node:assert/strict";
import { test } from "node:test";
import { assertLinear } from "../../../test/support/cost.ts";
import { apiError } from "./api-errors.ts";

const requested = { verb: "create", resource: "pods web of lease" };
const peer = { server: new URL("https://10.0.0.1:6443"), path: "kubeconfig" };

/** As a real API server wrote them. */
const rejections = {
  AKP_KUBE_TERMINATING: {
    status: 403,
    reason: "Forbidden",
    message: `pods "web" is forbidden: unable to create new content in namespace lease because it is being terminated`,
    causes: [
      { reason: "NamespaceTerminating", message: "namespace lease is being terminated", field: "metadata.namespace" },
    ],
  },
  AKP_KUBE_QUOTA: {
    status: 403,
    reason: "Forbidden",
    message: `pods "web" is forbidden: exceeded quota: pods, requested: count/pods=1, used: count/pods=1, limited: count/pods=1`,
  },
  AKP_KUBE_FORBIDDEN: {
    status: 403,
    reason: "Forbidden",
    message: `pods is forbidden: User "stranger" cannot create resource "pods" in API group "" in the namespace "lease"`,
  },
  AKP_KUBE_REFUSED: {
    status: 403,
    reason: "Forbidden",
    message: `admission webhook "validation.gatekeeper.sh" denied the request: [repos] container <web> has an invalid image repo`,
  },
  AKP_KUBE_EXISTS: { status: 409, reason: "AlreadyExists", message: `pods "web" already exists` },
  AKP_KUBE_OWNED: {
    status: 409,
    reason: "Conflict",
    message: `Apply failed with 1 conflict: conflict with "kubectl" using v1: .data.n`,
    causes: [{ reason: "FieldManagerConflict", message: `conflict with "kubectl" using v1`, field: ".data.n" }],
  },
  AKP_KUBE_OTHER_UID: {
    status: 409,
    reason: "Conflict",
    message: `Operation cannot be fulfilled on pods "web": Precondition failed: UID in precondition: a, UID in object meta: b`,
  },
  AKP_KUBE_CONFLICT: {
    status: 409,
    reason: "Conflict",
    message: `Operation cannot be fulfilled on pods "web": the object has been modified; please apply your changes to the latest version and try again`,
  },
};

for (const [code, { status, reason, message, ...more }] of Object.entries(rejections)) {
  test(`a rejection that means ${code} is distinguished, and keeps its reason and its causes`, () => {
    const causes = "causes" in more ? more.causes : [];
    const body = JSON.stringify({ kind: "Status", code: status, reason, message, details: { name: "web", causes } });
    const error = apiError({ status, body }, requested, peer);
    assert.equal(error.code, code);
    assert.equal(error.details["statusReason"], reason);
    assert.deepEqual(error.details["causes"], causes);
    assert.ok(error.message.includes(message));
  });
}

test("what a policy of the cluster itself denies is rejected like what a webhook denies, and no rights would help", async () => {
  const message = `deployments.apps "web" is forbidden: ValidatingAdmissionPolicy 'repos' with binding 'all' denied request: no`;
  const body = JSON.stringify({ kind: "Status", code: 403, reason: "Forbidden", message, details: { name: "web" } });
  assert.equal(apiError({ status: 403, body }, requested, peer).code, "AKP_KUBE_REFUSED");
  const hostile = (size: number) => `ValidatingAdmissionPolicy '${"' with binding '".repeat(size)}`;
  const read = (body: string) => apiError({ status: 403, body }, requested, peer);
  assert.equal(read(hostile(50_000)).code, "AKP_KUBE_FORBIDDEN");
  await assertLinear((size) => read.bind(undefined, hostile(size)), 4_000);
});
