/** Kinds of the controllers that routes are made for; none of them has to be there. */
import type { Kind } from "../../../kube/kinds.ts";

export const middleware = traefik("Middleware", "middlewares");
export const serversTransport = traefik("ServersTransport", "serverstransports");
export const clientSettingsPolicy = fabric("ClientSettingsPolicy", "clientsettingspolicies");
export const proxySettingsPolicy = fabric("ProxySettingsPolicy", "proxysettingspolicies");

function traefik(kind: string, plural: string): Kind {
  return { group: "traefik.io", version: "v1alpha1", kind, plural, namespaced: true };
}

/** NGINX Gateway Fabric. */
function fabric(kind: string, plural: string): Kind {
  return { group: "gateway.nginx.org", version: "v1alpha1", kind, plural, namespaced: true };
}
