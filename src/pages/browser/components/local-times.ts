/** Writes the moments of a page (`components/time.ts` of the server) as the reader's clock and calendar have them. */
import { formatDate, formatInstant } from '../format.ts'
import { findElements } from '../page.ts'

export function showLocalTimes(): void {
  for (const time of findElements('time[data-time]', HTMLTimeElement))
    time.textContent = time.dataset['time'] === 'date' ? formatDate(time.dateTime) : formatInstant(time.dateTime)
}
