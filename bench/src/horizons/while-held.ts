/** Slots and prepared transactions outlive a cell: what was held is let go whatever happens, and what happened first is what is told. */
export async function whileHeld<H extends { release(): Promise<void> }, T>(
  holder: H,
  work: (holder: H) => Promise<T>,
): Promise<T> {
  let result: T;
  try {
    result = await work(holder);
  } catch (error) {
    await holder.release().catch(() => undefined);
    throw error;
  }
  await holder.release();
  return result;
}
