/** Every schema change there ever was, in order. New ones are added at the end; released ones never change. */
import type { Migration } from './migration.ts'
import { accounts } from './0001-accounts.ts'
import { ledger } from './0002-ledger.ts'
import { membership } from './0003-membership.ts'
import { images } from './0004-images.ts'
import { turnLinks } from './0005-turn-links.ts'
import { contradictedUsage } from './0008-contradicted-usage.ts'
import { access } from './0009-access.ts'
import { persons } from './0010-persons.ts'
import { apps } from './0011-apps.ts'

export const migrations: readonly Migration[] = [
  accounts,
  ledger,
  membership,
  images,
  turnLinks,
  contradictedUsage,
  access,
  persons,
  apps,
]
