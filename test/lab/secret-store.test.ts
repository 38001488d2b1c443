/** The Secret of our certificates on a real API server. */
import { after } from "node:test";
import { controlPlaneMissing, sharedControlPlane } from "../../lab/own-control-plane.ts";
import { checkSecretStore } from "../support/contracts/secret-store.contract.ts";
import { openKube } from "./open-kube.ts";

const skip = controlPlaneMissing();
const kubeconfig = skip ? "" : await sharedControlPlane({ after });

checkSecretStore({
  name: "a real API server",
  ...{ skip, namespace: "default" },
  open: (t) => openKube(t, kubeconfig, { fieldManager: "akash-provider" }),
});
