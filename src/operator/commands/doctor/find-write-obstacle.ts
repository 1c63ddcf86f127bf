/** Why the service cannot write into a folder that this command can write into: the command may be root, and runs outside of the unit. */
import { spawnSync } from 'node:child_process'
import { isAbsolute, relative, resolve } from 'node:path'
import { findFolderOwner } from '../../../system/data-folder/folder-owner.ts'
import type { Owner } from '../../../system/data-folder/folder-owner.ts'

/** Null: none is known. */
export function findWriteObstacle(folder: string, dataDir: string): string | null {
  return findUserObstacle(folder, findFolderOwner(dataDir)) ?? findUnitObstacle(folder, dataDir)
}

/** @param owner the service's user; undefined: this process has its rights */
export function findUserObstacle(folder: string, owner: Owner | undefined): string | null {
  if (owner === undefined) return null
  const { status } = spawnSync('test', ['-w', folder], { ...owner, cwd: '/', stdio: 'ignore' })
  return status === 1
    ? `${folder} cannot be written by the user of the data folder; let it enter the folders above, and run: chown ${owner.uid}:${owner.gid} ${folder}`
    : null
}

const unit = 'svc-gateway.service'

/** Null where the unit of `deploy/systemd/` is not the one that uses this data folder. */
export function findUnitObstacle(folder: string, dataDir: string, systemctl = 'systemctl'): string | null {
  const names = ['StateDirectory', 'ProtectSystem', 'ProtectHome', 'ReadWritePaths']
  const { status, stdout } = spawnSync(systemctl, ['show', unit, `--property=${names.join()}`], { encoding: 'utf8' })
  if (status !== 0) return null
  const settings = new Map(
    stdout.split('\n').map((line): [string, string] => [line.split('=', 1)[0] ?? '', line.slice(line.indexOf('=') + 1)]),
  )
  const listPaths = (name: string): readonly string[] => (settings.get(name) ?? '').split(' ').filter((path) => path !== '')
  const stateFolders = listPaths('StateDirectory').map((name) => resolve('/var/lib', name))
  if (!stateFolders.includes(resolve(dataDir))) return null
  const hiddenFolder = ['/home', '/root', '/run/user'].find((path) => isInside(folder, path))
  if (hiddenFolder !== undefined && settings.get('ProtectHome') === 'yes')
    return `the service cannot see ${folder}: its unit hides ${hiddenFolder}; use a folder elsewhere, such as /var/backups/svc-gateway`
  const writable = [...stateFolders, ...listPaths('ReadWritePaths').map((path) => path.replace(/^[-+]+/, ''))]
  if (settings.get('ProtectSystem') !== 'strict' || writable.some((path) => isInside(folder, path))) return null
  return `${folder} is read-only for the service: run systemctl edit svc-gateway, add the lines [Service] and ReadWritePaths=${folder}, and restart it`
}

function isInside(path: string, folder: string): boolean {
  const way = relative(folder, resolve(path))
  return way === '' || (!way.startsWith('..') && !isAbsolute(way))
}
