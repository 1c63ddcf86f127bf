/** Draws the figures as a self-contained SVG that is legible on light and dark backgrounds. */
import { referenceName } from '../subjects/subjects.ts'
import { groupByShape, computeLatencies } from './report.ts'
import type { Group, Latency, Run } from './report.ts'
import { shapeNames } from '../subjects/subject.ts'
import { sumThreadCpu, threadGroups } from '../machine/thread-cpu.ts'

const rowHeight = 26
const barHeight = 16
const barLength = 430
/** Width for the figures after a bar. */
const figureWidth = 200
/** Estimated width of a name's letter. */
const letterWidth = 7.2

/** The start and end of bars; names come before, figures after. */
interface BarSpan {
  readonly from: number
  readonly to: number
}

interface Panel {
  readonly height: number
  readonly drawing: string
}

/** The measured number of clients that is nearest to 64; the table has all of them. */
export function renderChart(run: Run): string {
  const groups = groupByShape(run)
  const clients = groups.map((group) => group.clients).toSorted((a, b) => Math.abs(a - 64) - Math.abs(b - 64))[0]
  const from = Math.max(220, Math.ceil(30 + letterWidth * Math.max(...run.subjects.map(({ length }) => length))))
  const across = { from, to: from + barLength }
  const width = across.to + figureWidth
  const panels = [
    renderLegend(across),
    ...groups.filter((group) => group.clients === clients).map((group) => renderCostPanel(group, across)),
    renderLatencyPanel(computeLatencies(run), run, across),
    renderSource(run),
  ]
  let top = 16
  const placed = panels.map(({ height, drawing }) => {
    const moved = `<g transform="translate(0 ${top})">${drawing}</g>`
    top += height
    return moved
  })
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${top}" width="${width}" height="${top}" role="img" aria-label="What a turn costs">
<style>${style}</style>
<rect class="ground" width="${width}" height="${top}" rx="8"/>
${placed.join('\n')}
</svg>
`
}

function renderLegend({ from }: BarSpan): Panel {
  const items = threadGroups.map((group, index) => {
    const x = from + index * 86
    return `<rect class="${group}" x="${x}" y="2" width="12" height="12" rx="2"/>${renderText(x + 17, 12, legendLabels[group], 'small')}`
  })
  return { height: 24, drawing: `${renderText(20, 13, 'Processor time by thread', 'small')}${items.join('')}` }
}

const legendLabels = { main: 'main', workers: 'workers', V8: 'V8', libuv: 'libuv', other: 'other' } as const

function renderCostPanel({ shape, clients, costs }: Group, { from, to }: BarSpan): Panel {
  const maxCpu = Math.max(...costs.map(({ cpu }) => cpu))
  const rows = costs.map(({ subject, cpu, threads, cpuRatio, isDisturbed }, index) => {
    const y = 34 + index * rowHeight
    // The medians of the parts do not add up exactly to the median of the whole, which is the bar's length.
    const scale = ((cpu / maxCpu) * (to - from)) / Math.max(1, sumThreadCpu(threads))
    let x = from
    const parts = threadGroups.map((group) => {
      const length = threads[group] * scale
      const part = `<rect class="${group}" x="${x.toFixed(1)}" y="${y}" width="${length.toFixed(1)}" height="${barHeight}"/>`
      x += length
      return part
    })
    const ratio = cpuRatio === undefined || subject === referenceName ? '' : `  ${cpuRatio.median.toFixed(2)} ×`
    const figure = `${isDisturbed ? '~' : ''}${cpu.toFixed(0)} µs${ratio}`
    return `${renderName(from, y, subject)}${parts.join('')}${renderText(x + 8, y + 13, figure)}`
  })
  const title = `CPU a turn, ${shapeNames[shape]}, ${clients} clients; × ${referenceName}`
  return { height: 34 + costs.length * rowHeight + 12, drawing: `${renderText(20, 20, title, 'title')}${rows.join('')}` }
}

/** A line from p50 (filled) over p99 (hollow) to p99.9; the scale is logarithmic because rare times can be a hundred times the usual ones. */
function renderLatencyPanel(latencies: readonly Latency[], { samples }: Run, { from, to }: BarSpan): Panel {
  if (latencies.length === 0) return { height: 0, drawing: '' }
  const rate = samples.find((sample) => sample.kind === 'open')?.rate
  const all = latencies.flatMap(({ p50, p999 }) => [p50, p999])
  const [low, high] = [Math.floor(Math.log10(Math.min(...all))), Math.ceil(Math.log10(Math.max(...all)))]
  const at = (ms: number): number => from + ((Math.log10(ms) - low) / Math.max(1, high - low)) * (to - from)
  const bottom = 34 + latencies.length * rowHeight
  const grid = Array.from({ length: high - low + 1 }, (_, index) => {
    const ms = 10 ** (low + index)
    return `<line class="grid" x1="${at(ms)}" x2="${at(ms)}" y1="30" y2="${bottom}"/>${renderText(at(ms), bottom + 14, `${ms} ms`, 'small middle')}`
  })
  const rows = latencies.map((each, index) => {
    const y = 34 + index * rowHeight + barHeight / 2
    const [p50, p99, p999] = [each.p50, each.p99, each.p999].map((ms) => at(ms).toFixed(1))
    const marks =
      `<path class="range" d="M${p50} ${y}H${p999}m0 -6v12"/>` +
      `<circle class="range ink" cx="${p50}" cy="${y}" r="5"/><circle class="range hollow" cx="${p99}" cy="${y}" r="5"/>`
    const figure = `${each.isDisturbed ? '~' : ''}${each.p50.toFixed(1)} · ${each.p99.toFixed(1)} · ${each.p999.toFixed(1)} ms`
    return `${renderName(from, y - barHeight / 2, each.subject)}${marks}${renderText(to + 16, y + 5, figure)}`
  })
  const title = `Time of an answer at ${rate} turns/s on the clock: ● p50 · ○ p99 · | p99.9`
  return { height: bottom + 30, drawing: `${renderText(20, 20, title, 'title')}${grid.join('')}${rows.join('')}` }
}

function renderSource({ at, commit, machine, rounds, samples }: Run): Panel {
  const disturbed = samples.filter((sample) => sample.disturbance !== null).length
  const quiet = disturbed === 0 ? '' : `; ${disturbed} of ${samples.length} measurements disturbed`
  const lines = [machine, `${at}, ${commit}; medians of ${rounds} rounds${quiet}`]
  return { height: 46, drawing: lines.map((line, index) => renderText(20, 14 + index * 16, line, 'small')).join('') }
}

function renderName(from: number, y: number, subject: string): string {
  return renderText(from - 10, y + 13, subject, subject === referenceName ? 'end strong' : 'end')
}

function renderText(x: number, y: number, words: string, kind = ''): string {
  return `<text x="${x.toFixed(1)}" y="${y.toFixed(1)}" class="${kind}">${escapeXml(words)}</text>`
}

function escapeXml(words: string): string {
  return words.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
}

// Colours that colour-blind readers can distinguish, each with a lighter one for dark backgrounds.
const style = `
text { font: 13px system-ui, sans-serif; fill: #1f2328; white-space: pre }
.small { font-size: 11px; fill: #59636e } .title { font-size: 14px; font-weight: 600 } .strong { font-weight: 600 }
.end { text-anchor: end } .middle { text-anchor: middle }
.ground { fill: #ffffff } .grid { stroke: #d1d9e0 } .range { stroke: #1f2328; stroke-width: 2 } .ink { fill: #1f2328 } .hollow { fill: #ffffff }
.main { fill: #0b62c4 } .workers { fill: #c2570c } .V8 { fill: #8250b8 } .libuv { fill: #2c8a4b } .other { fill: #848d97 }
@media (prefers-color-scheme: dark) {
text { fill: #e6edf3 } .small { fill: #9aa4af } .ground { fill: #0d1117 } .grid { stroke: #30363d } .range { stroke: #e6edf3 } .ink { fill: #e6edf3 } .hollow { fill: #0d1117 }
.main { fill: #4c9dff } .workers { fill: #f0883e } .V8 { fill: #bc8cff } .libuv { fill: #56d364 } .other { fill: #8b949e }
}`
