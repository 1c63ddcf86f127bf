/** The answers of `svc-gateway init`: what is asked, in which form, and what follows from each for the two files. */
import { OperatorError } from '../../../system/operator-error.ts'

export interface SetupAnswers {
  /** Origin of the website and the API; null: this machine only. */
  readonly siteUrl: string | null
  /** Null: the built-in demonstration. */
  readonly upstreamUrl: string | null
  readonly upstreamKey: string | null
  /** Null: emails become files. */
  readonly smtpUrl: string | null
  readonly mailFrom: string | null
  /** The operator's address for notifications; null: none are sent by mail. An option only. */
  readonly notifyMail: string | null
  /** Models of the upstream for the two tiers; null: the first that it lists. */
  readonly lightModel: string | null
  readonly flagshipModel: string | null
  readonly currency: string
  /** Price of a month by plan, of the plans that the shipped configuration has. `free` is always there. */
  readonly plans: Readonly<Record<string, number>>
  readonly provider: SetupProvider | null
  readonly clientSecret: string | null
}

export interface SetupProvider {
  readonly name: string
  readonly issuer: string
  readonly clientId: string
}

/** The answers that are written into the configuration file. */
export type ConfigAnswers = Pick<SetupAnswers, 'currency' | 'plans' | 'provider'>

export const defaultAnswers: SetupAnswers = {
  siteUrl: null,
  upstreamUrl: null,
  upstreamKey: null,
  smtpUrl: null,
  mailFrom: null,
  notifyMail: null,
  lightModel: null,
  flagshipModel: null,
  currency: 'USD',
  plans: { pro: 9, max: 19, 'max-20x': 39 },
  provider: null,
  clientSecret: null,
}

/** Answers that environment variables of the shipped configuration have. */
export const variables = {
  siteUrl: 'SITE_URL',
  upstreamUrl: 'UPSTREAM_BASE_URL',
  upstreamKey: 'UPSTREAM_API_KEY',
  smtpUrl: 'SMTP_URL',
  mailFrom: 'MAIL_FROM',
  notifyMail: 'NOTIFY_EMAIL',
  lightModel: 'UPSTREAM_MODEL_LIGHT',
  flagshipModel: 'UPSTREAM_MODEL_FLAGSHIP',
  clientSecret: 'SIGN_IN_CLIENT_SECRET',
} as const satisfies Partial<Record<keyof SetupAnswers, string>>

export const secretVariables: ReadonlySet<string> = new Set([variables.upstreamKey, variables.smtpUrl, variables.clientSecret])

/** `pro=9,max=19`. @throws OperatorError */
export function parsePlans(text: string): Readonly<Record<string, number>> {
  const plans = text
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== '')
    .map((part): [string, number] => {
      const [, id = '', amount = ''] = /^([a-z][a-z0-9-]*)=(\d{1,7}(?:\.\d{1,2})?)$/.exec(part) ?? []
      if (id === '' || !Object.hasOwn(defaultAnswers.plans, id))
        throw new OperatorError(
          `'${part}' is no plan with its price of a month; write for example ${formatPlans(defaultAnswers.plans)}.`,
        )
      return [id, Number(amount)]
    })
  const twice = plans.find(([id], i) => plans.findIndex(([other]) => other === id) !== i)
  if (twice !== undefined) throw new OperatorError(`The plan ${twice[0]} is named twice; it has one price.`)
  return Object.fromEntries(plans)
}

export function formatPlans(plans: Readonly<Record<string, number>>): string {
  return Object.entries(plans)
    .map(([id, amount]) => `${id}=${amount}`)
    .join(',')
}

/** An environment file is read by systemd, Docker and Node, which agree on plain values only. @throws OperatorError */
export function assertPlainValue(name: string, value: string): void {
  if (/[\p{Cc}"'`\\#$]/u.test(value) || value.trim() !== value || value === '')
    throw new OperatorError(
      `${name} has a character that environment files do not keep (a quote, a backslash, #, $, or a space at an end). In an address write it as %XX, or keep it in a file of its own and name that file in ${name}_FILE.`,
    )
}
