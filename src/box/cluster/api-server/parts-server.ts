/** The API server for the cluster's own parts, which run in the same process and call it directly. */
import { refusalError } from "../../../kube/client/refusal.ts";
import { kinds, objectText, resourceOf } from "../../../kube/kinds.ts";
import type { KubeObject } from "../../../kube/kube.ts";
import type { ApiServer } from "./api-server.ts";
import { Refused } from "./objects/refused.ts";
import { peer, statusOf } from "./requests/status.ts";
import { readSelection, type Server, servedOf } from "./server.ts";

export function createPartsServer(server: Server): ApiServer {
  const { store, served } = server;

  /** What is refused here is thrown as it would be from a client. */
  function told<T>(verb: string, resource: string, work: () => T): T {
    try {
      return work();
    } catch (thrown) {
      if (!(thrown instanceof Refused)) throw thrown;
      throw refusalError({ status: thrown.status, body: JSON.stringify(statusOf(thrown)) }, { verb, resource }, peer);
    }
  }

  return {
    get: (kind, at) => told("get", objectText(kind, at), () => store.get(servedOf(served, kind), at)),
    list: (kind, selection = {}) =>
      told("list", resourceOf(kind), () => {
        const of = servedOf(served, kind);
        return store.list(of).filter(readSelection(of, selection));
      }),
    create: (kind, object, manager) =>
      told("create", objectText(kind, object.metadata), () =>
        server.create(servedOf(served, kind), object, { manager }),
      ),
    update: (kind, object, manager) =>
      told("update", objectText(kind, object.metadata), () => {
        const subresource = kind === kinds.namespace ? "finalize" : undefined;
        return server.update(servedOf(served, kind), object, { manager, subresource });
      }),
    updateStatus: (kind, object, manager) =>
      told("update the status of", objectText(kind, object.metadata), () =>
        server.update(servedOf(served, kind), object, { manager, subresource: "status" }),
      ),
    apply: (kind, desired, options) =>
      told("apply", objectText(kind, desired.metadata), () => server.apply(servedOf(served, kind), desired, options)),
    delete: (kind, at, options = {}) =>
      told("delete", objectText(kind, at), () => {
        const of = servedOf(served, kind);
        const live = store.get(of, at);
        if (!live) return false;
        if (kind === kinds.namespace && options.graceSeconds === 0) finalize(live);
        else server.delete(of, at, options);
        return true;
      }),
    subscribe: (listener) =>
      store.subscribe(({ type, served: of, object }) => listener({ type, kind: of.kind, object })),
  };

  /** What was in it has gone: the namespace may go too. */
  function finalize(live: KubeObject): void {
    const of = servedOf(served, kinds.namespace);
    const { object } = server.delete(of, live.metadata, {});
    server.update(of, { ...object, spec: {} }, { manager: "kube-controller-manager", subresource: "finalize" });
  }
}
