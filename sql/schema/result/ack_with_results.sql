-- Acks messages of a batch, as ack does, and keeps the result of each, in this transaction: whoever has sent them, or looks for them, reads it with
-- result. results: as many as message_ids, JSON of a mebibyte at most; null: it is done, and that is all. They are kept for as long as the header
-- pgque-result-ttl-ms says, else an hour. strict: as ack_strict, for the transaction that does the messages' work.
-- 1 done (also when they were settled before: what was kept then stays), 0 (with a warning) unknown, already finished or lease lost: nothing is kept.
-- Errors: PQ003 a message that is not in the batch, PQ004 results that do not fit the ids or are no JSON or too large, PQ006 as ack_strict.
create function ack_with_results(
  batch_id bigint, message_ids bigint[], results text[], strict boolean default false, caller caller default current_user
) returns int
language plpgsql
volatile
security definer
set search_path from current
as $$
declare
  fresh bigint[];
  kept bigint[];
begin
  perform require_receive(caller, batch_queue(batch_id));
  perform check_results(message_ids, results);
  fresh := settle_messages(batch_id, message_ids, false);
  if strict then
    perform require_settled(batch_id, message_ids, fresh);
  elsif fresh is null then
    perform warn_not_settled(batch_id);
    return 0;
  end if;
  if cardinality(fresh) = 0 then
    return 1;
  end if;
  -- what is in the batch is read once, after its settling: to read it costs more than all else
  with written as (
    insert into result
    select r.*
      from unnest(message_ids, results) as given(id, result)
      join batch_messages(batch_id) m on m.message_id = given.id
      join consumer c on c.id = m.consumer_id
      join queue q on q.id = c.queue_id
     cross join lateral new_result(
       q.uid, m.message_id, c.name, 'done', given.result, null, m.headers, coalesce(result_ttl(m.headers), '1 hour')
     ) r
     where given.id in (select unnest(fresh))
    returning message_id
  )
  select array_agg(w.message_id) into kept from written w;
  if cardinality(kept) = cardinality(fresh) then
    return 1;
  end if;
  raise exception using
    errcode = 'PQ003',
    message = format('message not in batch %s: %s', batch_id,
      (select string_agg(f::text, ', ') from unnest(fresh) as f where f <> all (coalesce(kept, '{}')))),
    hint = 'Only what receive returned with this batch id is in the batch.';
end
$$;

-- Refuses results that do not belong to these messages, or cannot be kept.
create function check_results(message_ids bigint[], results text[]) returns void
language plpgsql
immutable
set search_path from current
as $$
declare
  given record;
begin
  if message_ids is null or array_position(message_ids, null) is not null then
    raise exception using errcode = 'PQ004', message = 'expected an array of message ids without NULL';
  end if;
  if results is null or cardinality(results) <> cardinality(message_ids) or cardinality(message_ids) <> (select count(distinct m) from unnest(message_ids) as m) then
    raise exception using
      errcode = 'PQ004',
      message = format('expected as many results as message_ids, each id once, got: %s and %s', coalesce(cardinality(results)::text, 'NULL'), cardinality(message_ids));
  end if;
  for given in select * from unnest(message_ids, results) as g(id, result) where g.result is not null loop
    perform check_json(given.result, format('the result of message %s', given.id), result_bytes_max());
  end loop;
end
$$;

-- Refuses what is no JSON, or has more bytes.
create function check_json(value text, what text, bytes_max int) returns void
language plpgsql
immutable
set search_path from current
as $$
begin
  if octet_length(value) > bytes_max then
    raise exception using
      errcode = 'PQ004',
      message = format('expected %s to have at most %s bytes, got: %s', what, bytes_max, octet_length(value)),
      hint = 'Keep what is large elsewhere, and make its place the result.';
  end if;
  perform value::json;
exception
  when data_exception then
    raise exception using errcode = 'PQ004', message = format('expected %s to be JSON, got: %s', what, left(value, 100));
end
$$;

-- What came of a message: no row while it is not known, or none any more; see the table result for the columns. The latest, of a message that was redriven.
-- Whoever may receive from the queue, or look at all, reads any; whoever may only send to it must name the header pgque-reply-to of the message.
-- Errors: PQ001 no such queue; a role without a right to the queue.
create function result(
  queue text, message_id bigint, consumer text default 'default', reply_to text default null, caller caller default current_user
) returns table (state text, result text, reason text, settled_at timestamptz, expires_at timestamptz)
language plpgsql
volatile
security definer
set search_path from current
set enable_seqscan = off
as $$
#variable_conflict use_column
declare
  of_queue constant int := require_queue(queue);
  reads_all constant boolean := may_view(caller) or may_receive(caller, of_queue);
begin
  if not reads_all and (reply_to is null or not may_send(caller, of_queue)) then
    perform require_receive(caller, of_queue);
  end if;
  return query
    select r.state, r.result, r.reason, r.settled_at, r.expires_at
      from result r
     where r.queue_uid = (select q.uid from queue q where q.id = of_queue)
       and r.message_id = result.message_id
       and r.consumer = result.consumer
       and r.expires_at > clock_timestamp()
       and (reads_all or r.reply_to = result.reply_to)
     order by r.settled_at desc
     limit 1;
end
$$;
