import assert from "node:assert/strict";
import { test } from "node:test";
import { newSigner } from "../../../test/support/stages/auth-stage.ts";
import { anonymous, type DeploymentGrant, type Grant, identityOf, scopes, type TokenScope } from "./identity.ts";

const { address } = newSigner();
const lease = { dseq: 7n, gseq: 1, oseq: 2 };
const web: DeploymentGrant = {
  ...{ dseq: 7n, gseq: 0, oseq: 0 },
  ...{ scopes: new Set<TokenScope>(["status"]), services: new Set(["web"]) },
};

/** What it opens: provider, deployment, deployment with scope, lease, lease with scope; and the services. */
const table: readonly [what: string, Grant, opens: readonly boolean[], services: readonly string[] | undefined][] = [
  ["nothing", { access: "none" }, [false, false, false, false, false], []],
  ["everything", { access: "full" }, [true, true, true, true, true], undefined],
  ["a scope", { access: "scoped", scopes: new Set(["status"]) }, [true, true, true, true, true], undefined],
  ["another scope", { access: "scoped", scopes: new Set(["logs"]) }, [true, true, false, true, false], []],
  ["no scope that we know", { access: "scoped", scopes: new Set() }, [true, true, false, true, false], []],
  ["a deployment", granular(web), [true, true, true, true, true], ["web"]],
  ["another deployment", granular({ ...web, dseq: 8n }), [true, false, false, false, false], []],
  ["its group", granular({ ...web, gseq: 1 }), [true, true, true, true, true], ["web"]],
  ["another group", granular({ ...web, gseq: 2 }), [true, true, true, false, false], []],
  ["its order", granular({ ...web, gseq: 1, oseq: 2 }), [true, true, true, true, true], ["web"]],
  ["another order", granular({ ...web, gseq: 1, oseq: 1 }), [true, true, true, false, false], []],
  ["another scope of it", granular({ ...web, scopes: new Set(["logs"]) }), [true, true, false, true, false], []],
  [
    "two entries, neither of which gives the scope for the lease",
    granular({ ...web, gseq: 2 }, { ...web, scopes: new Set(["logs"]) }),
    [true, true, true, true, false],
    [],
  ],
  [
    "two services",
    granular(web, { ...web, services: new Set(["api"]) }),
    [true, true, true, true, true],
    ["web", "api"],
  ],
  [
    "a service for another scope",
    granular(web, { ...web, scopes: new Set(["logs"]), services: new Set(["api"]) }),
    [true, true, true, true, true],
    ["web"],
  ],
];

function granular(...deployments: readonly DeploymentGrant[]): Grant {
  return { access: "granular", deployments };
}

for (const [what, grant, opens, services] of table) {
  test(`grant ${what} → permits that and no more`, () => {
    const identity = identityOf(address, grant, 0);
    const opened = [
      identity.mayUseProvider,
      identity.mayUseDeployment(7n),
      identity.mayUseDeployment(7n, "status"),
      identity.mayUseLease(lease),
      identity.mayUseLease(lease, "status"),
    ];
    assert.deepEqual(opened, opens);
    const allowed = identity.servicesOf(lease, "status");
    assert.deepEqual(allowed && [...allowed], services);
  });
}

test("anonymous → no permissions", () => {
  for (const scope of [undefined, ...scopes]) {
    assert.equal(anonymous.mayUseDeployment(7n, scope), false);
    assert.equal(anonymous.mayUseLease(lease, scope), false);
  }
  assert.deepEqual(anonymous.servicesOf(lease, "status"), new Set());
});
