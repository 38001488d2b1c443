/** The least that can apply an object: one PATCH over a kept connection, with the answer discarded. */
import { once } from "node:events";
import * as https from "node:https";
import type { OwnControlPlane } from "../lab/own-control-plane.ts";
import { serverName } from "../lab/own-secrets.ts";
import { objectPath } from "../src/kube/client/transport.ts";
import { apiVersionOf, type Kind } from "../src/kube/kinds.ts";
import type { KubeObject } from "../src/kube/kube.ts";

export interface BareApply {
  apply(kind: Kind, object: KubeObject): Promise<void>;
  close(): void;
}

export function createBareApply({ apiUrl, admin, authority }: OwnControlPlane, fieldManager: string): BareApply {
  const agent = new https.Agent({ keepAlive: true, ca: authority.certPem, servername: serverName });
  const headers = { authorization: `Bearer ${admin.token}`, "content-type": "application/apply-patch+yaml" };
  return {
    async apply(kind, object) {
      const { namespace, name } = object.metadata;
      const url = `${apiUrl}${objectPath(kind, { namespace, name })}?fieldManager=${fieldManager}&force=true`;
      const request = https.request(url, { method: "PATCH", agent, headers });
      request.end(JSON.stringify({ ...object, apiVersion: apiVersionOf(kind), kind: kind.kind }));
      const [response] = await once(request, "response");
      response.resume();
      await once(response, "end");
      if (response.statusCode >= 300) throw new Error(`${url}: ${response.statusCode}`);
    },
    close: () => agent.destroy(),
  };
}
