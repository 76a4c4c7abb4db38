-- The tables of PgQue that its tools read, as views: what is in them is what it means here. They are read only, and each is a function that asks
-- for the right to look, so that a SELECT granted by mistake shows nothing.

-- One row a consumer. sub_id and sub_consumer: its number. sub_active: its last receive that found something, or when it subscribed.
-- sub_batch: its oldest open batch, of several. Ticks are none, so the two that count them are null.
create function subscription_rows() returns table (
  sub_id int, sub_queue int, sub_consumer int, sub_last_tick bigint, sub_active timestamptz, sub_batch bigint, sub_next_tick bigint,
  queue_name text, consumer_name text
)
language sql
volatile
security definer
set search_path from current
begin atomic
  select c.id, q.id, c.id, null::bigint, coalesce(clock_timestamp() - i.last_seen, c.created_at), i.current_batch, null::bigint, q.name, c.name
    from get_consumer_info() i
    join queue q on q.name = i.queue_name
    join consumer c on c.queue_id = q.id and c.name = i.consumer_name
   order by c.id;
end;

create view subscription as select * from subscription_rows();

comment on view subscription is 'The consumers, for tools of PgQue.';

-- What waits to be tried again, one row a message and consumer: what a consumer nacked or snoozed, and what a crashed worker held. ev_owner: the
-- consumer. ev_retry: how often it has been tried. Messages that were sent with a delay are not in it.
create function retry_queue_rows() returns table (
  ev_retry_after timestamptz, ev_queue int, ev_id bigint, ev_time timestamptz, ev_txid bigint, ev_owner int, ev_retry int, ev_type text,
  ev_data text, ev_extra1 text, ev_extra2 text, ev_extra3 text, ev_extra4 text, queue_name text, consumer_name text
)
language plpgsql
volatile
security definer
set search_path from current
as $$
declare
  source text;
begin
  foreach source in array delayed_tables() loop
    return query execute format(qualified($sql$
      select d.due_at, q.id, d.id, d.created_at, d.txid::text::bigint, d.consumer_id, d.attempt - 1, d.type, d.payload,
             null::text, null::text, null::text, null::text, q.name, c.name
        from {schema}.%I d
        join {schema}.queue q on q.uid = d.queue_uid
        join {schema}.consumer c on c.id = d.consumer_id
       where not {schema}.is_moved($1, d.txid, d.due_at, d.seq)
    $sql$), source) using delayed_position(source);
  end loop;
end
$$;

create view retry_queue as select * from retry_queue_rows();

comment on view retry_queue is 'What waits to be tried again, for tools of PgQue.';

-- One row a queue: where it stands now, since a message is there as soon as its transaction commits. tick_id: what ticker(queue) answers, a
-- number that grows with what is sent. There is no past: what joins two ticks of a queue finds one.
create function tick_rows() returns table (
  tick_queue int, tick_id bigint, tick_time timestamptz, tick_snapshot pg_snapshot, tick_event_seq bigint, queue_name text
)
language sql
volatile
security definer
set search_path from current
begin atomic
  select q.id, s.n, clock_timestamp(), pg_current_snapshot(), s.n, q.name
    from queue q
   cross join lateral (select coalesce(pg_sequence_last_value(relation(format('message_seq_%s', q.id))), 0) as n) s
   order by q.id;
end;

create view tick as select * from tick_rows();

comment on view tick is 'Where each queue stands, for tools of PgQue.';
