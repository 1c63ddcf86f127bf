/** What a loaded page must keep: its place while it loads, its weight, and every line whole from 320 to 1920 pixels. */
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { CDPSession } from 'playwright-core'
import { waitUntil } from '../wait-until.ts'
import type { BrowserSession } from './chromium.ts'

const root = join(import.meta.dirname, '../../..')
const pixelsPerRem = 16

/** From the narrowest phone to a large screen: usual ones, and the narrowest of each layout of the stylesheets, which is its fullest. */
const allWidths = [...new Set([320, 360, 390, 430, 640, 768, 900, 1280, 1600, 1920, ...listLayoutWidths()])].toSorted(
  (a, b) => a - b,
)

function listLayoutWidths(): number[] {
  const styles = globSync('src/pages/**/*.css', { cwd: root }).map((file) => readFileSync(join(root, file), 'utf8'))
  return [...styles.join('').matchAll(/\((max|min)-width: (\d+)rem\)/g)].map(
    ([, bound, rem]) => Number(rem) * pixelsPerRem + (bound === 'max' ? 1 : 0),
  )
}

/**
 * Parts that stand in two lines instead of one, parts and tables that are cut, and a page that scrolls sideways; an expression, because
 * the content policy of the pages allows no function as text. What ends in an ellipsis is cut on
 * purpose, and a table in an answer of a model scrolls.
 */
const findLayoutFaults = `(() => {
  const oneLine = '.button, .badge, thead th, .nowrap, nav a, [role=tab], .menu > summary, .language, .balance-line, .plan :is(td strong, td .sub, th, li, .price span, .plan-state, h2, .size span)'
  const describe = (node) => node.localName + [...node.classList].map((word) => '.' + word).join('') + ' ' + node.textContent.trim().replace(/\\s+/g, ' ').slice(0, 40)
  const isShown = (node) => node.checkVisibility({ visibilityProperty: true }) && (node.closest('thead')?.clientWidth ?? 2) > 1
  const isInTwoLines = (node) => {
    const range = document.createRange()
    range.selectNodeContents(node)
    const boxes = [...range.getClientRects()].filter((box) => box.width > 1).sort((a, b) => a.top - b.top)
    let bottom = boxes[0]?.bottom ?? 0
    for (const box of boxes) {
      if (box.top >= bottom - 2) return true
      bottom = Math.max(bottom, box.bottom)
    }
    return false
  }
  const isCut = (node) => {
    const { overflowX, textOverflow, clipPath } = getComputedStyle(node)
    return (overflowX === 'hidden' || overflowX === 'clip') && textOverflow !== 'ellipsis' && clipPath === 'none' && node.clientWidth > 1
  }
  const isWiderThanBox = (table) => {
    const box = table.closest('.table-box:not(.prose *)')
    return box !== null && table.getBoundingClientRect().right > box.getBoundingClientRect().right + 1
  }
  const find = (selector, isWrong) => [...document.querySelectorAll(selector)].filter((node) => isWrong(node) && isShown(node)).map(describe)
  return {
    width: innerWidth,
    faults: [
      ...find(oneLine, isInTwoLines).map((part) => 'in two lines: ' + part),
      ...find('body *', (node) => node.scrollWidth > node.clientWidth + 1 && isCut(node)).map((part) => 'cut: ' + part),
      ...find('table', isWiderThanBox).map((part) => 'table cut: ' + part),
      ...(document.documentElement.scrollWidth > innerWidth ? ['the page scrolls sideways'] : []),
    ],
  }
})()`

/** The faults of a page at each width, with the widths that have it. All commands are sent at once: a third of the time. */
export async function findFaultsAtWidths(session: CDPSession, widths: readonly number[] = allWidths): Promise<string[]> {
  const widthsOf = new Map<string, number[]>()
  const looks = await Promise.all(widths.map((width) => lookAt(session, width)))
  for (const [index, width] of widths.entries()) {
    let found = looks[index]
    // A busy browser answers before it has the new width.
    await waitUntil(async () => {
      if (found?.width !== width) found = await lookAt(session, width)
      return found.width === width
    }, `a page of ${width} pixels`)
    for (const fault of found?.faults ?? []) widthsOf.set(fault, [...(widthsOf.get(fault) ?? []), width])
  }
  await session.send('Emulation.clearDeviceMetricsOverride')
  return [...widthsOf].map(([fault, where]) => `${fault} (${where.join(' ')})`)
}

interface FoundFaults {
  readonly width: number
  readonly faults: readonly string[]
}

async function lookAt(session: CDPSession, width: number): Promise<FoundFaults> {
  const resized = session.send('Emulation.setDeviceMetricsOverride', { width, height: 800, deviceScaleFactor: 1, mobile: false })
  const evaluated = session.send('Runtime.evaluate', { expression: findLayoutFaults, returnByValue: true })
  await resized
  return (await evaluated).result.value as FoundFaults
}

export interface LoadMeter {
  readonly session: CDPSession
  /** Opens a page as a first visit does, without a cache. */
  open(path: string): Promise<void>
  /** Bytes on the way since the page was opened, with the heads of the responses. */
  readonly bytes: number
  /** Cumulative layout shift since the page was opened, as browsers count it. */
  readShift(): Promise<number>
}

/** Measures what each page of this session loads, and how far it moves while it loads. */
export async function startLoadMeter({ page, context }: BrowserSession): Promise<LoadMeter> {
  const session = await context.newCDPSession(page)
  let bytes = 0
  session.on('Network.loadingFinished', ({ encodedDataLength }) => void (bytes += encodedDataLength))
  await session.send('Network.enable')
  await session.send('Network.setCacheDisabled', { cacheDisabled: true })
  await context.addInitScript(`new PerformanceObserver((list) => {
    for (const entry of list.getEntries()) if (!entry.hadRecentInput) globalThis.layoutShift = (globalThis.layoutShift ?? 0) + entry.value
  }).observe({ type: 'layout-shift', buffered: true })`)
  return {
    session,
    async open(path) {
      bytes = 0
      await page.goto(path)
      // A locator, not a function: the content policy of the page forbids repeated evaluation of text.
      await page.locator('[aria-busy=true]').first().waitFor({ state: 'detached' })
    },
    get bytes() {
      return bytes
    },
    readShift: async () => Number(await page.evaluate('globalThis.layoutShift ?? 0')),
  }
}
