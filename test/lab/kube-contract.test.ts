/** The Kubernetes contract against a real API server: the lab's, or one of our own if the lab is down. */
import { randomBytes } from "node:crypto";
import { after } from "node:test";
import { controlPlaneMissing, startControlPlane } from "../../lab/own-control-plane.ts";
import { places } from "../../lab/places.ts";
import { kinds } from "../../src/kube/kinds.ts";
import type { ObjectAt } from "../../src/kube/kube.ts";
import { checkKubeContract, type KubeStage } from "../support/contracts/kube.contract.ts";
import { pickUid } from "../support/kube/kube-objects.ts";
import { labIsMissing, temporaryNamespace } from "./cluster.ts";
import { openKube } from "./open-kube.ts";
import { runShell } from "./pods.ts";

/** One for the whole file; each test has a namespace of its own. */
const stage = labIsMissing ? await ownControlPlane() : await lab();
/** Outlives the clients of the tests, and takes their namespaces away. */
const keeper = openKube({ after }, stage.kubeconfig);

checkKubeContract({
  name: "a real API server",
  ...stage,
  async open(owner): Promise<KubeStage> {
    const { kubeconfig, pod } = stage;
    const connect = (fieldManager: string) => openKube(owner, kubeconfig, { fieldManager });
    const namespace = `contract-${randomBytes(4).toString("hex")}`;
    const made = await keeper.create(kinds.namespace, { metadata: { name: namespace } });
    // Its deletion takes five seconds and is not awaited: another test has another one.
    owner.after(async () => void (await keeper.delete(kinds.namespace, { name: namespace }, pickUid(made))));
    return { kube: connect("akash-provider"), connect, namespace, pod };
  },
});

interface Cluster {
  readonly skip: string | false;
  readonly kubeconfig: string;
  readonly pod: ObjectAt | undefined;
}

async function lab(): Promise<Cluster> {
  const { kubeconfig } = places;
  const pod = { namespace: await temporaryNamespace({ after }), name: "box" };
  await runShell(openKube({ after }, kubeconfig), pod, "echo first; echo second");
  return { skip: false, kubeconfig, pod };
}

/** Where the lab is down; then what needs a running pod is skipped. */
async function ownControlPlane(): Promise<Cluster> {
  const skip = controlPlaneMissing();
  const kubeconfig = skip ? "" : (await startControlPlane({ after }, { controllers: true })).kubeconfig;
  return { skip, kubeconfig, pod: undefined };
}
