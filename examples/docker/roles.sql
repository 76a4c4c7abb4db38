-- Run as the owner of the schema after `pgque install` and `pgque queue create orders`, as often as you like. The passwords are those of the
-- environment.
\set ON_ERROR_STOP on
\getenv service_password SERVICE_PASSWORD
\getenv worker_password WORKER_PASSWORD

select format('create role %I login', role)
  from unnest(array['orders_service', 'orders_worker']) role
 where not exists (select from pg_roles where rolname = role) \gexec
alter role orders_service password :'service_password';
alter role orders_worker password :'worker_password';

-- each of them its side of one queue, and nothing else of Pgque
select pgque.grant_queue('orders', 'orders_service', 'send');
select pgque.grant_queue('orders', 'orders_worker', 'receive');

create table if not exists public.receipts (message_id text primary key, item text not null);
grant insert on public.receipts to orders_worker;
