/** Kubernetes over its HTTP API. */
import { createKubeClient, type KubeDeps } from "../client/kube-client.ts";
import type { Kube } from "../kube.ts";
import { createCredentials } from "./credentials.ts";
import { createHttpTransport } from "./http-transport.ts";
import { type IdentityOptions, readIdentity } from "./kubeconfig.ts";

interface HttpKubeOptions extends IdentityOptions {
  /** The name our writes carry: "akash-provider", "akash-operator-hostname" and so on. */
  readonly fieldManager: string;
}

export function createHttpKube(options: HttpKubeOptions, deps: KubeDeps): Kube {
  const credentials = createCredentials(() => readIdentity(options), deps.clock);
  return createKubeClient(createHttpTransport({ credentials, clock: deps.clock }), options.fieldManager, deps);
}
