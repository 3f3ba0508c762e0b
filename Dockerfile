# The server with everything that it needs, run by a user without rights. See docs/container.md.
#
#   docker build -t fewlabels .
#   docker run --rm --user "$(id -u)" -v "$PWD:/data" fewlabels new audit.db predictions.csv
#   docker run --rm --user "$(id -u)" -v "$PWD:/data" -p 127.0.0.1:8000:8000 fewlabels

FROM python:3.13-slim AS wheel
WORKDIR /source
COPY pyproject.toml hatch_build.py README.md LICENSE ./
COPY src src
RUN python -m pip wheel --no-cache-dir --no-deps --wheel-dir /wheels .

FROM python:3.13-slim
COPY --from=wheel /wheels /wheels
RUN python -m venv /opt/fewlabels \
    && /opt/fewlabels/bin/python -m pip install --no-cache-dir "$(echo /wheels/fewlabels-*.whl)[web,postgres]" \
    && rm -rf /wheels
RUN useradd --create-home --uid 10001 fewlabels && mkdir /data && chown fewlabels /data
ENV PATH=/opt/fewlabels/bin:$PATH PYTHONUNBUFFERED=1
USER fewlabels
WORKDIR /data
VOLUME /data
EXPOSE 8000
HEALTHCHECK --interval=30s --timeout=5s --start-period=20s \
    CMD ["python", "-c", "import urllib.request; urllib.request.urlopen('http://127.0.0.1:8000/healthz', timeout=4)"]
ENTRYPOINT ["fewlabels"]
CMD ["serve", "audit.db", "--host", "0.0.0.0"]
