// The bill of materials of a release, in CycloneDX (https://cyclonedx.org/): the packages that run,
// which are those that the bundle contains or that are installed beside it, and the Node that the
// executable contains.
//
// L1. It depends on package-lock.json and the version of npm only. The time and the random serial
//     number that npm writes are left out; both are optional.

import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { top } from './parts.ts'

interface Component {
  type: string
  name: string
  version: string
  [field: string]: unknown
}

interface Dependency {
  ref: string
  dependsOn: string[]
}

interface Locked {
  version: string
  dev?: true
  devOptional?: true
}

export interface BillOfMaterials {
  metadata: { component: Component; [field: string]: unknown }
  components: Component[]
  dependencies: Dependency[]
  [field: string]: unknown
}

/** Lists what a release contains, with this version of Node in the executable. */
export function billOfMaterials(node: string): BillOfMaterials {
  const flags = ['--sbom-format', 'cyclonedx', '--sbom-type', 'application']
  const output = execFileSync('npm', ['sbom', '--package-lock-only', ...flags], {
    cwd: top,
    encoding: 'utf8',
    maxBuffer: 64 * 2 ** 20,
  })
  const { serialNumber: _, metadata, components, dependencies, ...rest } = JSON.parse(output)
  const { timestamp: __, component, ...about } = metadata
  const { name, running } = locked()
  const platform = {
    'bom-ref': `node@${node}`,
    type: 'platform',
    name: 'node',
    version: node,
    scope: 'optional',
    purl: `pkg:generic/node@${node}`,
  }
  const runs = (reference: string) => running.has(reference)
  return {
    ...rest,
    // npm takes the name of the folder.
    metadata: { ...about, component: { ...component, name } },
    components: [
      ...(components as Component[]).filter((each) => runs(`${each.name}@${each.version}`)),
      platform,
    ],
    dependencies: (dependencies as Dependency[])
      .filter(({ ref }) => ref === component['bom-ref'] || runs(ref))
      .map(({ ref, dependsOn }) => ({ ref, dependsOn: dependsOn.filter(runs) })),
  }
}

/**
 * Returns the name of the project, and the packages that the lock file has for running it, as
 * NAME@VERSION. `npm sbom --omit dev` leaves out some of them, such as zod, on which packages for
 * tests depend as well.
 */
function locked(): { name: string; running: Set<string> } {
  const { name, packages } = JSON.parse(readFileSync(join(top, 'package-lock.json'), 'utf8'))
  const running = new Set<string>()
  for (const [path, { version, dev, devOptional }] of Object.entries<Locked>(packages)) {
    if (path === '' || dev || devOptional) continue
    running.add(`${path.slice(path.lastIndexOf('node_modules/') + 13)}@${version}`)
  }
  return { name, running }
}
