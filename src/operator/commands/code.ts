/** `svc-gateway code …`: codes that members redeem for a plan or for credits. */
import { formatInstant } from '../../domain/instant.ts'
import { getPlan } from '../../domain/billing/catalog/plan.ts'
import { codePrefixLength, hashCode, parseCode } from '../../domain/billing/redeem-code.ts'
import type { CodeGift, RedeemCode } from '../../domain/billing/redeem-code.ts'
import { formatSpan, parseSpan } from '../../domain/billing/span.ts'
import { findCodeState } from '../../domain/billing/sale-lists.ts'
import { describeGift } from '../../domain/services/operators/code-admin-service.ts'
import { CommandError, requirePlan, withInstallation } from '../installation.ts'
import type { Installation } from '../installation.ts'
import { formatCellTime, formatMoment, formatTable, pluralize, renderResult } from '../output.ts'
import type { CommandResult, OutputOptions } from '../output.ts'
import { formatZone } from '../../system/terminal/format-time.ts'
import { parseFutureInstant, parseWholeNumber } from './boost.ts'
import { formatCsvLine } from '../../domain/billing/report-format.ts'

export interface CreateCodeOptions extends OutputOptions {
  readonly plan?: string
  readonly for?: string
  readonly credits?: string
  readonly pool?: string
  readonly days?: string
  readonly count: string
  readonly uses: string
  readonly expires?: string
  readonly batch?: string
  readonly csv?: true
}

const maxCount = 100_000
const maxDays = 36_500
const maxRedemptionsShown = 100

export function createRedeemCodes(options: CreateCodeOptions): Promise<CommandResult> {
  return withInstallation(async (installation) => {
    const { codeAdmin, createAuthor, clock, calendar, config } = installation
    const now = clock.now()
    const count = parseWholeNumber('--count', options.count)
    if (count > maxCount) throw new CommandError(`--count must be at most ${maxCount}; create further codes with another call.`)
    const batch = options.batch === undefined ? null : parseBatch(options.batch)
    const maxUses = parseWholeNumber('--uses', options.uses)
    const expiresAt = options.expires === undefined ? null : parseFutureInstant('--expires', options.expires, now, calendar)
    const gift = await parseGift(options, installation)
    const codes = await codeAdmin.create({ gift, count, maxUses, expiresAt, batch }, createAuthor())
    const { siteUrl } = config.listen
    const toLink = (code: string) => (siteUrl === null ? null : `${siteUrl}/redeem?code=${code}`)
    const record = { gift: toGiftRecord(gift), uses: maxUses, expires_at: formatInstant(expiresAt), batch }
    if (options.csv === true)
      return {
        ok: true,
        text: [
          formatCsvLine(['code', 'link', 'id', 'gives', 'uses', 'expires_at', 'batch']),
          ...codes.map(({ id, code }) =>
            formatCsvLine([code, toLink(code), id, describeGift(gift), maxUses, formatInstant(expiresAt), batch]),
          ),
        ].join(''),
      }
    const data = codes.map(({ id, code }) => ({ id, code, link: toLink(code) }))
    return renderResult(options, { object: 'list', ...record, data }, () =>
      [
        ...codes.map(({ code }) => code),
        '',
        `${pluralize(count, 'code')} for ${describeGift(gift)}, ${maxUses === 1 ? 'one account' : `${maxUses} accounts`} each${expiresAt === null ? '' : `, to be redeemed before ${formatMoment(expiresAt, now)}`}. They are shown only now.`,
      ].join('\n'),
    )
  })
}

async function parseGift(
  { plan, for: span, credits, pool, days }: CreateCodeOptions,
  installation: Installation,
): Promise<CodeGift> {
  const { store, config, clock } = installation
  if ((plan === undefined) === (credits === undefined))
    throw new CommandError('Name either --plan with --for, or --credits with --pool.')
  if (plan !== undefined) {
    if (pool !== undefined || days !== undefined) throw new CommandError('--pool and --days belong to --credits.')
    const parsedSpan = parseSpan(span ?? '')
    if (parsedSpan === undefined || parsedSpan.unit === 'ms')
      throw new CommandError(`--for must be a span such as 30d, 1mo or 1y, not '${span ?? ''}'.`)
    if (requirePlan(installation, plan) === config.defaultPlan)
      throw new CommandError(`Plan ${plan} is the default plan, which every account has; a code for it would give nothing.`)
    return {
      kind: 'plan',
      terms: await store.subscriptions.ensureTerms(getPlan(config, plan), clock.now()),
      span: formatSpan(parsedSpan),
    }
  }
  if (span !== undefined) throw new CommandError('--for belongs to --plan; credits have --days.')
  if (pool !== 'fast' && pool !== 'premium') throw new CommandError(`--pool must be fast or premium, not '${pool ?? ''}'.`)
  const lastingDays = parseWholeNumber('--days', days ?? '365')
  if (lastingDays > maxDays) throw new CommandError(`--days must be at most ${maxDays}.`)
  return { kind: 'credits', pool, credits: parseWholeNumber('--credits', credits ?? ''), days: lastingDays }
}

function parseBatch(text: string): string {
  if (!/^[\w.-]{1,64}$/.test(text))
    throw new CommandError('--batch must have 1 to 64 letters, digits, dots, dashes or underscores.')
  return text
}

export function listRedeemCodes(
  options: OutputOptions & { batch?: string; prefix?: string; after?: string; limit: string },
): Promise<CommandResult> {
  return withInstallation(async ({ store, clock }) => {
    const now = clock.now()
    const codes = await store.redeemCodes.list({
      limit: parseWholeNumber('--limit', options.limit),
      ...(options.batch === undefined ? {} : { batch: options.batch }),
      ...(options.prefix === undefined ? {} : { prefix: parsePrefix(options.prefix) }),
      ...(options.after === undefined ? {} : { after: options.after }),
    })
    return renderResult(options, { object: 'list', data: codes.map((code) => toRecord(code, now)) }, () =>
      formatTable(
        ['id', 'code', 'batch', 'gives', 'used', 'of', 'state', `created (${formatZone(now)})`, 'expires'],
        codes.map((code) => [
          code.id,
          `${code.prefix}…`,
          code.batch,
          describeGift(code.gift),
          code.uses,
          code.maxUses,
          findState(code, now),
          formatCellTime(code.createdAt, now),
          formatCellTime(code.expiresAt, now),
        ]),
      ),
    )
  })
}

/** By id, by its first characters, or by the whole code. */
export function showRedeemCode(name: string, options: OutputOptions): Promise<CommandResult> {
  return withInstallation(async (installation) => {
    const { store, clock } = installation
    const code = await requireCode(installation, name)
    const redemptions = await store.redeemCodes.listRedemptions(code.id, maxRedemptionsShown)
    const now = clock.now()
    const data = redemptions.map(({ id, account, at, subscription, pack }) => ({
      id,
      account,
      at: formatInstant(at),
      subscription,
      pack,
    }))
    return renderResult(options, { ...toRecord(code, now), redemptions: data }, () =>
      [
        `${code.id} (${code.prefix}…) gives ${describeGift(code.gift)}; ${code.uses} of ${code.maxUses} used; ${findState(code, now)}.`,
        ...(redemptions.length === 0
          ? []
          : [
              '',
              formatTable(
                ['account', `redeemed (${formatZone(now)})`, 'gave'],
                redemptions.map(({ account, at, subscription, pack }) => [
                  account,
                  formatCellTime(at, now),
                  subscription ?? pack,
                ]),
              ),
            ]),
      ].join('\n'),
    )
  })
}

/** @throws CommandError where none or several codes begin so */
async function requireCode({ store }: Installation, name: string): Promise<RedeemCode> {
  const byId = await store.redeemCodes.find(name)
  if (byId !== undefined) return byId
  const parsedCode = parseCode(name)
  if (parsedCode.kind === 'mistyped') throw new CommandError('This code has a typing error: its check character does not fit.')
  if (parsedCode.kind === 'code') {
    const storedCode = await store.redeemCodes.findByHash(hashCode(parsedCode.code), '')
    if (storedCode !== undefined) return storedCode.code
    throw new CommandError('There is no such code. See: svc-gateway code list')
  }
  const [code, another] = await store.redeemCodes.list({ prefix: parsePrefix(name), limit: 2 })
  if (code === undefined) throw new CommandError(`There is no code '${name}'. See: svc-gateway code list`)
  if (another !== undefined)
    throw new CommandError(`Several codes begin with ${name}. See: svc-gateway code list --prefix ${name}`)
  return code
}

export function revokeRedeemCodes(
  name: string | undefined,
  options: OutputOptions & { batch?: string; prefix?: string },
): Promise<CommandResult> {
  const { batch, prefix } = options
  if ([name, batch, prefix].filter((each) => each !== undefined).length !== 1)
    throw new CommandError('Name one code, or --batch, or --prefix.')
  return withInstallation(async (installation) => {
    const filter =
      name !== undefined
        ? { id: (await requireCode(installation, name)).id }
        : batch !== undefined
          ? { batch }
          : { prefix: parsePrefix(prefix ?? '') }
    const revokedCount = await installation.codeAdmin.revoke(filter, installation.createAuthor())
    return renderResult(
      options,
      { ok: true, revoked: revokedCount },
      () =>
        `${pluralize(revokedCount, 'code')} revoked. What was redeemed stays; codes that are used up or revoked already are not counted.`,
    )
  })
}

function parsePrefix(text: string): string {
  const prefix = text.toUpperCase().replaceAll('O', '0').replaceAll(/[IL]/g, '1')
  if (!/^[0-9A-Z]+$/.test(prefix) || prefix.length !== codePrefixLength)
    throw new CommandError(`A code is named by its id, by its first ${codePrefixLength} characters, or as a whole.`)
  return prefix
}

function findState(code: RedeemCode, now: number): string {
  return findCodeState(code, now).replace('_', ' ')
}

function toGiftRecord(gift: CodeGift): Record<string, unknown> {
  return gift.kind === 'plan'
    ? { kind: 'plan', plan: gift.terms.plan.id, terms: gift.terms.id, span: gift.span }
    : { kind: 'credits', pool: gift.pool, credits: gift.credits, days: gift.days }
}

function toRecord(code: RedeemCode, now: number): Record<string, unknown> {
  const { id, prefix, batch, gift, maxUses, uses, createdAt, expiresAt, revokedAt } = code
  return {
    id,
    prefix,
    batch,
    gift: toGiftRecord(gift),
    uses,
    max_uses: maxUses,
    state: findState(code, now),
    created_at: formatInstant(createdAt),
    expires_at: formatInstant(expiresAt),
    revoked_at: formatInstant(revokedAt),
  }
}
