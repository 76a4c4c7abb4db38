-- Keeps one batch its worker's for another lease from now: for work that takes longer than was thought. A heartbeat under the name that the
-- batch was received with; other batches of that name are kept as well. 1: it was still held, 0 (with a warning): it is unknown, finished,
-- or its lease was lost. A lease is never shortened. Errors: PQ004 a lease out of range, or a batch that was received without a worker's name.
create function extend(batch_id bigint, lease interval default '30 s', caller caller default current_user) returns int
language plpgsql
volatile
security definer
set search_path from current
as $$
declare
  state record;
  worker text;
begin
  perform require_receive(caller, batch_queue(batch_id));
  if lease is null or not (lease > '0' and lease <= '1 day') then
    raise exception using
      errcode = 'PQ004',
      message = format('expected lease to be longer than 0 and at most 1 day, got: %s', coalesce(lease::text, 'NULL')),
      hint = 'Extend it again before that is over.';
  end if;
  state := batch_state(batch_id);
  if state.messages is null or state.final then
    perform warn_not_settled(batch_id);
    return 0;
  end if;
  execute format(qualified('select b.worker from {schema}.batch_%s_%s b where b.id = $1'), batch_queue(batch_id), batch_segment(batch_id)) into worker using batch_id;
  if worker is null then
    raise exception using
      errcode = 'PQ004',
      message = format('expected batch %s to have been received with a worker''s name', batch_id),
      hint = 'Give receive_messages a name, one of the batch''s own if only this batch is to be kept.';
  end if;
  insert into heartbeat (segment, worker, alive_until, is_extension)
  values (pointer_segment(pg_sequence_last_value('heartbeat_pointer')), worker, clock_timestamp() + lease, true);
  -- it may have been taken away meanwhile
  if (batch_state(batch_id)).final then
    perform warn_not_settled(batch_id);
    return 0;
  end if;
  return 1;
end
$$;
