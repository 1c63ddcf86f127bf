/** The repositories on one database. Loaded when one of them is asked something (`first-asked.ts` says why). */
import { accountsIn } from './accounts.ts'
import { apiKeysIn } from './api-keys.ts'
import { appsIn } from './apps.ts'
import { auditIn } from './audit.ts'
import { boostsIn } from './boosts.ts'
import { changesIn } from './changes.ts'
import { countersIn } from './counters.ts'
import type { Database } from './database.ts'
import { deviceLoginsIn } from './device-logins.ts'
import { identitiesIn, providerLoginsIn } from './identities.ts'
import { imagesIn } from './images.ts'
import { mailCodesIn } from './mail-codes.ts'
import { personsIn } from './persons.ts'
import { sessionsIn } from './sessions.ts'
import { usedDaysIn } from './used-days.ts'

export function repositoriesIn(db: Database) {
  return {
    accounts: accountsIn(db),
    keys: apiKeysIn(db),
    images: imagesIn(db),
    sessions: sessionsIn(db),
    apps: appsIn(db),
    mailCodes: mailCodesIn(db),
    identities: identitiesIn(db),
    providerLogins: providerLoginsIn(db),
    devices: deviceLoginsIn(db),
    boosts: boostsIn(db),
    counters: countersIn(db),
    persons: personsIn(db),
    audit: auditIn(db),
    changes: changesIn(db),
    days: usedDaysIn(db),
  }
}

export type Repositories = ReturnType<typeof repositoriesIn>
