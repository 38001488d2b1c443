import { after, describe } from "node:test";
import { controlPlaneMissing, sharedControlPlane } from "../../lab/own-control-plane.ts";
import { checkAdoption } from "../support/contracts/adoption.contract.ts";
import { oneOfEachShape, recordedLeases } from "../support/samples/recorded-leases.ts";
import { openKube } from "./open-kube.ts";

const skip = controlPlaneMissing(["kube"]);
const kubeconfig = skip ? "" : await sharedControlPlane({ after });

describe("on a real API server", { skip }, () => {
  checkAdoption({
    server: "a real server",
    // All of them are taken over on the simulated server.
    leases: () => oneOfEachShape(recordedLeases()),
    open: () => (owner, fieldManager) => openKube(owner, kubeconfig, { fieldManager }),
  });
});
