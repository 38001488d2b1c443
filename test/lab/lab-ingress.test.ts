import assert from "node:assert/strict";
import { get } from "node:http";
import { describe, it, type TestContext } from "node:test";
import { shellImage, webImage } from "../../lab/images.ts";
import { network } from "../../lab/places.ts";
import { eventually } from "../support/eventually.ts";
import { create, execute, labIsMissing, read, runPod, temporaryNamespace } from "./cluster.ts";

describe("the way into the lab", { skip: labIsMissing, concurrency: true }, () => {
  for (const ingressClassName of ["traefik", "akash-ingress-class"]) {
    it(`an Ingress of class ${ingressClassName} leads its host name to a pod`, async (t) => {
      const { namespace, host, url } = await webPod(t);
      await create(`${url}/ingresses`, {
        metadata: { name: "web" },
        spec: { ingressClassName, rules: [{ host, http: { paths: [{ path: "/", pathType: "Prefix", backend }] } }] },
      });
      assert.equal(await pageOf(host), "web\n");
      const ingress = await eventually("its address", () => addressOf(`${url}/ingresses/web`));
      assert.equal(ingress, network.ingress);
      await runPod(namespace, "shell", { image: shellImage });
      const header = `Host: ${host}`;
      const seenByPod = ["wget", "-qO-", "--header", header, `http://${network.ingress}/cgi-bin/pod`];
      assert.equal(await execute(namespace, "shell", ...seenByPod), "web\n");
    });
  }

  it("an HTTPRoute at the lab's Gateway leads its host name to a pod", async (t) => {
    const { namespace, host } = await webPod(t);
    await create(`/apis/gateway.networking.k8s.io/v1/namespaces/${namespace}/httproutes`, {
      apiVersion: "gateway.networking.k8s.io/v1",
      kind: "HTTPRoute",
      metadata: { name: "web" },
      spec: {
        parentRefs: [{ name: "traefik", namespace: "traefik" }],
        hostnames: [host],
        rules: [{ backendRefs: [{ name: "web", port: 8080 }] }],
      },
    });
    assert.equal(await pageOf(host), "web\n");
  });

  it("one of Traefik's own routes leads its host name to a pod", async (t) => {
    const { namespace, host } = await webPod(t);
    await create(`/apis/traefik.io/v1alpha1/namespaces/${namespace}/ingressroutes`, {
      apiVersion: "traefik.io/v1alpha1",
      kind: "IngressRoute",
      metadata: { name: "web" },
      spec: { routes: [{ kind: "Rule", match: `Host(\`${host}\`)`, services: [{ name: "web", port: 8080 }] }] },
    });
    assert.equal(await pageOf(host), "web\n");
  });

  it("a host name without a route is not found", async () => {
    assert.equal((await ask("nobody.lab.invalid")).status, 404);
  });
});

const backend = { service: { name: "web", port: { number: 8080 } } };

/** A web server with a Service, and a unique host name. */
async function webPod(t: TestContext) {
  const namespace = await temporaryNamespace(t);
  await runPod(namespace, "web", { image: webImage });
  await create(`/api/v1/namespaces/${namespace}/services`, {
    metadata: { name: "web" },
    spec: { selector: { app: "web" }, ports: [{ port: 8080 }] },
  });
  return { namespace, host: `${namespace}.lab.invalid`, url: `/apis/networking.k8s.io/v1/namespaces/${namespace}` };
}

function pageOf(host: string): Promise<string> {
  return eventually("the page", async () => {
    const { status, body } = await ask(host);
    return status === 200 && body;
  });
}

/** `fetch` would not let us choose the Host header. */
function ask(host: string): Promise<{ status: number | undefined; body: string }> {
  return new Promise((resolve, reject) => {
    const sent = get(`http://${network.ingress}/cgi-bin/pod`, { headers: { host }, agent: false }, (response) => {
      let body = "";
      response.setEncoding("utf8").on("data", (text: string) => {
        body += text;
      });
      response.on("end", () => resolve({ status: response.statusCode, body })).on("error", reject);
    });
    sent.on("error", reject);
  });
}

async function addressOf(ingress: string): Promise<string | undefined> {
  const { status } = await read<{ status: { loadBalancer: { ingress?: { ip: string }[] } } }>(ingress);
  return status.loadBalancer.ingress?.[0]?.ip;
}
