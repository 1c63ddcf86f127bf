/** The grants of the run's two plans, for each window of both pools. */
export const pools = {
  max: { day: 1e12, week: 1e12, month: 1e12 },
  free: { day: 20_000, week: 80_000, month: 200_000 },
} as const
