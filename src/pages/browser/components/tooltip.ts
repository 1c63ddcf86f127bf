/**
 * Tips: the text of `data-tip`, shown beside the element under the pointer or with the keyboard's focus, and hidden by Escape. The element
 * has the same text as its label or description already, so screen readers read it once.
 */
import { createElement } from '../page.ts'

/** The pointer crosses controls on its way; a tip appears where it rests. */
const restMs = 400
const distance = 8

const tip = createElement('div', { class: 'tooltip', 'aria-hidden': 'true' })
let timer: ReturnType<typeof setTimeout> | undefined
let owner: HTMLElement | null = null

document.addEventListener('pointerover', (event) => {
  // A finger has no position before it presses.
  if (event.pointerType === 'touch') return
  hideTip()
  const host = findHost(event.target)
  if (host !== null) timer = setTimeout(() => showTip(host), restMs)
})
document.addEventListener('focusin', ({ target }) => {
  hideTip()
  const host = findHost(target)
  if (host?.matches(':focus-visible') === true) showTip(host)
})
for (const name of ['focusout', 'pointerdown']) document.addEventListener(name, hideTip, true)
// A control that gets the focus is scrolled into view, and its tip goes with it.
document.addEventListener('scroll', placeTip, true)
document.addEventListener('keydown', (event) => {
  if (event.key === 'Escape') hideTip()
})

function findHost(target: EventTarget | null): HTMLElement | null {
  const host = target instanceof Element ? target.closest('[data-tip]') : null
  return host instanceof HTMLElement ? host : null
}

function showTip(host: HTMLElement): void {
  if (!host.isConnected) return
  tip.textContent = host.dataset['tip'] ?? ''
  // A modal dialog is above everything that is not in it.
  ;(host.closest('dialog') ?? document.body).append(tip)
  owner = host
  placeTip()
}

function placeTip(): void {
  if (owner === null) return
  const { left, top, bottom, width } = owner.getBoundingClientRect()
  const { offsetWidth, offsetHeight } = tip
  const start = left + width / 2 - offsetWidth / 2
  const above = top - offsetHeight - distance
  tip.style.left = `${Math.max(distance, Math.min(start, innerWidth - offsetWidth - distance))}px`
  tip.style.top = `${above >= distance ? above : bottom + distance}px`
}

function hideTip(): void {
  clearTimeout(timer)
  owner = null
  tip.remove()
}
