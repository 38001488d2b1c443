import { after } from "node:test";
import { places } from "../../lab/places.ts";
import { checkDefinitions } from "../support/contracts/definitions.contract.ts";
import { labIsMissing, temporaryNamespace } from "./cluster.ts";
import { openKube } from "./open-kube.ts";

// One for all of them: each test has names of its own, and a namespace takes seconds to go.
const namespace = labIsMissing ? "" : await temporaryNamespace({ after });

checkDefinitions({
  name: "the lab",
  skip: labIsMissing,
  async open(owner) {
    const connect = (fieldManager: string) => openKube(owner, places.kubeconfig, { fieldManager });
    return { kube: connect("akash-provider"), connect, namespace, pod: undefined };
  },
});
