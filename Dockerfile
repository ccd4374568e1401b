# The portal as an image: `docker build --tag agent-memory-portal .`
# deploy/try_dockerfile.py carries out these steps one by one where there is no container engine.

FROM python:3.13-slim AS build
WORKDIR /build
COPY requirements-build.lock requirements-serve.lock ./
RUN python -m venv /build/tools && /build/tools/bin/pip install --no-cache-dir --require-hashes -r requirements-build.lock
RUN python -m venv /opt/portal && /opt/portal/bin/pip install --no-cache-dir --require-hashes -r requirements-serve.lock
COPY pyproject.toml README.md LICENSE ./
COPY portal portal
COPY templates templates
COPY static static
RUN /build/tools/bin/python -m hatchling build --target wheel --directory /build/wheel
RUN /opt/portal/bin/pip install --no-cache-dir --no-deps --no-index /build/wheel/*.whl

FROM python:3.13-slim
# pg_dump and pg_restore, for `portal backup` and `portal restore` with PostgreSQL.
RUN apt-get update && apt-get install --yes --no-install-recommends postgresql-client && rm -rf /var/lib/apt/lists/*
RUN useradd --system --uid 10001 --home-dir /var/lib/portal portal && install -d -o portal -g portal -m 0700 /var/lib/portal
COPY --from=build /opt/portal /opt/portal
ENV PATH=/opt/portal/bin:$PATH
ENV PYTHONDONTWRITEBYTECODE=1
ENV PORTAL_DATABASE_URL=sqlite:////var/lib/portal/portal.db
USER 10001
WORKDIR /var/lib/portal
# The only place where anything is written, beside /tmp.
VOLUME /var/lib/portal
EXPOSE 8000
HEALTHCHECK --interval=30s --timeout=5s --start-period=20s CMD ["python", "-c", "import urllib.request; urllib.request.urlopen('http://127.0.0.1:8000/healthz', timeout=4)"]
CMD ["portal", "serve", "--bind", "0.0.0.0:8000"]
